import { appendFile, mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createTool, type Tool } from "@selvedge/core/tools";
import { calculate } from "./calculate.ts";

export const currentTime: Tool = createTool({
  id: "current-time",
  description: "Returns the date and the time of day.",
  inputSchema: {
    type: "object",
    properties: {
      timeZone: { type: "string", description: "An IANA name such as Europe/Berlin.", maxLength: 64 },
    },
  },
  idempotent: true,
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
    properties: { expression: { type: "string", description: "Such as (2 + 3) * 4.", maxLength: 200 } },
    required: ["expression"],
  },
  idempotent: true,
  execute: ({ context }) => {
    const { expression } = context as { expression: string };
    return { expression, value: calculate(expression) };
  },
});

/** Takes a while, so that there is something to steer, to queue behind and to stop. */
export const wait: Tool = createTool({
  id: "wait",
  description: "Waits for some seconds.",
  inputSchema: {
    type: "object",
    properties: { seconds: { type: "number", description: "At most 60.", minimum: 0, maximum: 60 } },
    required: ["seconds"],
  },
  idempotent: true,
  execute: async ({ context }, { abortSignal }) => {
    const { seconds } = context as { seconds: number };
    await sleep(seconds * 1000, undefined, { signal: abortSignal });
    return { waited: seconds };
  },
});

/** Changes a file, and therefore asks first. */
export function createWriteNote(file: string): Tool {
  return createTool({
    id: "write-note",
    description: "Adds a line to the notes file. Asks the user first.",
    inputSchema: {
      type: "object",
      properties: { text: { type: "string", description: "The note, on one line.", maxLength: 500 } },
      required: ["text"],
    },
    requireApproval: true,
    execute: async ({ context }) => {
      const { text } = context as { text: string };
      await mkdir(dirname(file), { recursive: true });
      await appendFile(file, `- ${text.replaceAll(/\s+/g, " ")}\n`);
      return { written: text, notes: (await readNotes(file)).length };
    },
  });
}

export async function readNotes(file: string): Promise<string[]> {
  try {
    const text = await readFile(file, "utf8");
    return text
      .split("\n")
      .filter(Boolean)
      .map((line) => line.replace(/^- /, ""));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
