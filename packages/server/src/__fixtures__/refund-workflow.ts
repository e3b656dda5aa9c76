import { createStep, createWorkflow } from "@selvedge/core/workflows";
import { z } from "zod";

const order = z.object({ order: z.string() });
const priced = order.extend({ amount: z.number() });
const approval = z.object({ approved: z.boolean() });

/** A workflow that waits for an approval in its second step. */
export function refundWorkflow() {
  const find = createStep({
    id: "find",
    inputSchema: order,
    outputSchema: priced,
    execute: async ({ inputData }) => {
      if (inputData.order === "none") throw new Error("no order at postgres://user:secret@host");
      return { ...inputData, amount: 40 };
    },
  });
  const approve = createStep({
    id: "approve",
    inputSchema: priced,
    outputSchema: approval,
    resumeSchema: approval,
    suspendSchema: z.object({ amount: z.number() }),
    execute: async ({ inputData, resumeData, suspend }) =>
      resumeData ?? suspend({ amount: inputData.amount }),
  });
  return createWorkflow({
    id: "refund",
    description: "Refunds an order.",
    inputSchema: order,
    outputSchema: approval,
    metadata: { team: "payments" },
  })
    .then(find)
    .then(approve)
    .commit();
}
