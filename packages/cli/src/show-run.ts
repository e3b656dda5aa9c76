import { AgentError, errorMessage } from "@selvedge/core/errors";
import {
  type AgentChunk,
  type Answer,
  foldChunk,
  ignoreChunk,
  type ToolInvocation,
} from "@selvedge/protocol";
import type { WaitingCall } from "./chat-peer.ts";
import type { Style } from "./style.ts";

const SHOWN_LENGTH = 200;

export type RunOutcome = "done" | "aborted" | "failed";

/**
 * Writes a run to a terminal as it goes: the answer as text, tool calls and results on lines of their own. `answer` is what
 * has been shown of it: a run that waited goes on with the same one.
 */
export async function showRun(
  run: AsyncIterable<AgentChunk>,
  answer: Answer,
  write: (text: string) => void,
  style: Style,
): Promise<{ outcome: RunOutcome; waiting: WaitingCall[] }> {
  let outcome: RunOutcome = "done";
  let runId = "";
  let atLineStart = true;
  const put = (text: string): void => {
    if (text === "") return;
    write(text);
    atLineStart = text.endsWith("\n");
  };
  const putLine = (line: string): void => put(`${atLineStart ? "" : "\n"}${line}\n`);

  for await (const chunk of run) {
    runId = chunk.runId;
    const changed = foldChunk(answer, chunk);
    const part = typeof changed === "number" ? answer.parts[changed] : undefined;
    switch (chunk.type) {
      case "text-delta":
        put(printable(chunk.payload.text));
        break;
      case "reasoning-delta":
        put(style.dim(printable(chunk.payload.text)));
        break;
      case "text-end":
      case "reasoning-end":
        if (!atLineStart) put("\n");
        break;
      case "tool-call":
      case "tool-result":
      case "tool-error":
      case "tool-output-denied":
        if (part?.type === "tool-invocation") putLine(style.dim(describeCall(part.toolInvocation)));
        break;
      case "tripwire":
        putLine(style.red(`Stopped: ${printable(chunk.payload.reason)}`));
        break;
      case "abort":
        outcome = "aborted";
        putLine(style.dim("(stopped)"));
        break;
      case "error":
        outcome = "failed";
        putLine(style.red(describeError(chunk.payload.error)));
        break;
      default:
        ignoreChunk<"run" | "step" | "content" | "input" | "question" | "progress" | "other" | "data">(chunk);
    }
  }
  if (!atLineStart) put("\n");
  const waiting = [...answer.questions.values()].flatMap(({ requiresApproval, toolCallId, toolName }) =>
    requiresApproval ? [{ runId, toolCallId, toolName }] : [],
  );
  return { outcome, waiting };
}

/** A call, or what became of it. */
function describeCall({ state, toolName, args, result }: ToolInvocation): string {
  if (state === "result") return `← ${toShown(result)}`;
  if (state === "output-error") return `← failed: ${printable(String(result))}`;
  if (state === "output-denied") return "← declined";
  return `→ ${toolName} ${toShown(args)}`;
}

export function describeError(error: unknown): string {
  const message = printable(errorMessage(error));
  return AgentError.is(error) ? `${error.code}: ${message}` : message;
}

function toShown(value: unknown): string {
  const text = printable(JSON.stringify(value) ?? "");
  return text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text;
}

/** Without control characters: what a model or tool says must not move the cursor or rename the window. */
function printable(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "");
}
