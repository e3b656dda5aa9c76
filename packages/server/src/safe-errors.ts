import { type AgentChunk, ERROR_CODES, ignoreChunk, toolFailed, UNEXPECTED_CODES } from "@selvedge/protocol";
import { safeMessage } from "@selvedge/core/guards";
import type { RunRecord } from "@selvedge/core/threads";

const WORDS: Readonly<Record<string, string>> = {
  "storage-failed": "The store is not available",
  "storage-closed": "The store is not available",
  "tool-failed": "The tool failed",
  "model-failed": "The model failed",
};

type ErrorLike = { name: string; message: string; code?: unknown };

/** Whether an error is not meant for callers. An `AgentError` is; so is a thrown value that is not an error. */
export function isPrivate(error: unknown): error is ErrorLike {
  const { name, message, code } = Object(error) as Partial<ErrorLike>;
  if (typeof name !== "string" || typeof message !== "string") return false;
  return name !== "AgentError" || !Object.hasOwn(ERROR_CODES, code as string) || UNEXPECTED_CODES.has(code);
}

/** A chunk for a caller without access to the app's internals. The log has the details under the reference shown. */
export function safeChunk<Chunk extends AgentChunk>(chunk: Chunk): Chunk {
  const given: AgentChunk = chunk;
  switch (given.type) {
    case "tool-error": {
      const { error, toolName, toolCallId } = given.payload;
      if (!isPrivate(error)) return chunk;
      return withPayload(chunk, { error: toolFailure(toolName, toolCallId) });
    }
    case "error":
      if (!isPrivate(given.payload.error)) return chunk;
      return withPayload(chunk, { error: safeError(given.payload.error, `run ${given.runId}`) });
    case "tool-output": {
      // A subagent's chunks arrive as its tool's output; other tools may write anything.
      const { output } = given.payload;
      const { type, payload } = Object(output) as { type?: unknown; payload?: unknown };
      if (typeof type !== "string" || typeof payload !== "object" || payload === null) return chunk;
      return withPayload(chunk, { output: safeChunk(output as AgentChunk) });
    }
    case "finish": {
      const { all, user, nonUser } = Object(given.payload.messages) as Partial<typeof given.payload.messages>;
      if (!Array.isArray(all) || !Array.isArray(nonUser)) return chunk;
      return withPayload(chunk, {
        messages: { all: all.map(safeMessage), user, nonUser: nonUser.map(safeMessage) },
      });
    }
    default:
      ignoreChunk<"run" | "step" | "content" | "input" | "call" | "question" | "outcome" | "other" | "data">(
        given,
      );
      return chunk;
  }
}

/** The record of a run. */
export function safeRun<Run extends Pick<RunRecord, "runId" | "error">>(run: Run): Run {
  const { error, runId } = run;
  if (!error || !isPrivate({ name: "AgentError", ...error })) return run;
  const { code, message } = safeError(error, `run ${runId}`);
  return { ...run, error: { code, message } };
}

/** The replacement for an error, with the reference under which it is logged. */
export function safeError({ code }: { code?: unknown }, reference: string): ErrorLike {
  const what = (typeof code === "string" && WORDS[code]) || "The server failed";
  return {
    name: "AgentError",
    code: UNEXPECTED_CODES.has(code) ? code : "internal",
    message: `${what} (${reference}).`,
  };
}

function toolFailure(toolName: string, toolCallId: string): ErrorLike {
  return {
    name: "AgentError",
    code: "tool-failed",
    message: toolFailed(toolName, toolCallId),
  };
}

function withPayload<Chunk extends AgentChunk>(chunk: Chunk, changes: object): Chunk {
  return { ...chunk, payload: { ...(chunk as { payload?: object }).payload, ...changes } };
}
