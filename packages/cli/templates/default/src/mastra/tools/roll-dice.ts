import { randomInt } from "node:crypto";
import { createTool } from "@selvedge/core/tools";
import { z } from "zod";

export const rollDice = createTool({
  id: "roll-dice",
  description: "Rolls a die and tells the number.",
  inputSchema: z.object({
    sides: z.number().int().min(2).max(100).describe("How many sides the die has."),
  }),
  // The run waits here until somebody approves. Remove this line and it rolls at once.
  requireApproval: true,
  execute: async ({ context }) => ({ sides: context.sides, rolled: randomInt(1, context.sides + 1) }),
});
