import type { JsonSchema } from "../../schema/schema.ts";
import { createTool, type Tool } from "../../tool/tool.ts";

interface Question {
  question: string;
  options?: { label: string; description?: string }[];
  selectionMode?: "single_select" | "multi_select";
}

const INPUT: JsonSchema = {
  type: "object",
  properties: {
    question: {
      type: "string",
      minLength: 1,
      description: "What you want to know, with all that is needed to answer.",
    },
    options: {
      type: "array",
      minItems: 1,
      items: {
        type: "object",
        properties: { label: { type: "string", minLength: 1 }, description: { type: "string" } },
        required: ["label"],
      },
      description: "Answers to choose from. Leave it out for a free answer.",
    },
    selectionMode: {
      type: "string",
      enum: ["single_select", "multi_select"],
      description: "Whether one or several options may be chosen. One, when absent. Only with options.",
    },
  },
  required: ["question"],
};

/** Asks the person and waits as long as it takes. */
export const askUserTool: Tool<JsonSchema, undefined> = createTool({
  id: "ask_user",
  description:
    "Ask the user a question and wait for the answer. Use it when you cannot continue without the answer, not for what you can find out.",
  inputSchema: INPUT,
  resumeSchema: { anyOf: [{ type: "string" }, { type: "array", items: { type: "string" } }] },
  idempotent: true,
  execute: async ({ context }, { agent, resumeData, suspend }) => {
    const { question, options, selectionMode } = context as Question;
    if (selectionMode && !options)
      return {
        content: "selectionMode needs options to select from. Ask again with options.",
        isError: true,
      };
    if (!agent) return { content: `[Question for the user] ${question}`, isError: false };
    if (resumeData === undefined) {
      const mode = options && (selectionMode ?? "single_select");
      return suspend({ question, ...(options && { options, selectionMode: mode }) });
    }
    const answer = [resumeData as string | string[]].flat().join(", ");
    return { content: `The user answered: ${answer}`, isError: false };
  },
});
