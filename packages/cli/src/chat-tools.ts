import { createTool, type Tool } from "@selvedge/core/tools";
import { calculate } from "./calculate.ts";

export const currentTime: Tool = createTool({
  id: "current-time",
  description: "Tells the date and the time of day.",
  inputSchema: {
    type: "object",
    properties: { timeZone: { type: "string", description: "An IANA name such as Europe/Berlin." } },
  },
  execute: ({ context }) => {
    const { timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone } = context as { timeZone?: string };
    const now = new Date();
    const local = now.toLocaleString("en-GB", { timeZone, dateStyle: "full", timeStyle: "short" });
    return { iso: now.toISOString(), timeZone, local };
  },
});

export const calculator: Tool = createTool({
  id: "calculator",
  description: "Calculates with +, -, *, /, ^ and parentheses.",
  inputSchema: {
    type: "object",
    properties: { expression: { type: "string", description: "Such as (2 + 3) * 4." } },
    required: ["expression"],
  },
  execute: ({ context }) => {
    const { expression } = context as { expression: string };
    return { expression, value: calculate(expression) };
  },
});
