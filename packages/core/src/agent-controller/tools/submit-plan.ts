import type { JsonSchema } from "../../schema/schema.ts";
import { createTool, type Tool } from "../../tool/tool.ts";

interface SubmittedPlan {
  title?: string;
  plan?: string;
  /** A file that contains the plan. */
  path?: string;
}

/** A person's verdict on a plan. */
export type PlanDecision = { action: "approved" | "rejected"; feedback?: string };

const DEFAULT_TITLE = "Plan";
const INPUT: JsonSchema = {
  type: "object",
  properties: {
    title: { type: "string" },
    plan: { type: "string", minLength: 1, description: "The whole plan, as Markdown." },
    path: { type: "string", minLength: 1, description: "In place of plan: the file that has it." },
  },
  anyOf: [{ required: ["plan"] }, { required: ["path"] }],
};

const RESUME: JsonSchema = {
  type: "object",
  properties: { action: { type: "string", enum: ["approved", "rejected"] }, feedback: { type: "string" } },
  required: ["action"],
};

/** Shows a plan to the person and waits for approval or rejection. */
export const submitPlanTool: Tool<JsonSchema, undefined> = createTool({
  id: "submit_plan",
  description:
    "Submit a plan for the user to review, and wait until it is approved or sent back with feedback.",
  inputSchema: INPUT,
  resumeSchema: RESUME,
  idempotent: true,
  execute: async ({ context }, { agent, resumeData, suspend }) => {
    const { title = DEFAULT_TITLE, plan, path } = context as SubmittedPlan;
    if (!agent) return { content: `[Plan for review] ${title}\n\n${plan ?? path}`, isError: false };
    if (resumeData === undefined)
      return suspend({ title, ...(plan !== undefined && { plan }), ...(path !== undefined && { path }) });
    const { action, feedback } = resumeData as PlanDecision;
    const verdict =
      action === "approved"
        ? "The user approved the plan. Carry it out now."
        : "The user did not approve the plan. Revise it and submit it again.";
    return { content: feedback ? `${verdict} Feedback: ${feedback}` : verdict, isError: false };
  },
});
