import { expect, it } from "vitest";
import { createTool } from "../tool/tool.ts";
import { Agent } from "../agent/agent.ts";
import { scriptedModel } from "@selvedge/testing";

it("refuses a schema of a zod that is too old instead of sending its insides to the model", async () => {
  // As zod before 3.24 makes them: not a Standard Schema, and not JSON Schema either.
  const inputSchema = {
    _def: { typeName: "ZodObject" },
    safeParse: (data: unknown) => ({ success: true, data }),
  };
  const weather = createTool({ id: "weather", description: "", inputSchema, execute: async () => "Sunny" });
  const model = scriptedModel(["ok"]);
  const agent = new Agent({ name: "a", instructions: "", model, tools: { weather } });
  await expect(agent.generate("hi")).rejects.toMatchObject({
    code: "invalid-schema",
    message: expect.stringMatching(/^Tool "weather": .*zod 4\.2 or later.*zodSchema\(\)/),
  });
  expect(model.calls).toHaveLength(0);
});
