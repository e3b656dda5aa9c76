import { AgentError, errorMessage } from "@selvedge/core/errors";
import type { AgentChunk } from "@selvedge/protocol";
import type { WaitingCall } from "./chat-peer.ts";
import type { Style } from "./style.ts";

const SHOWN_LENGTH = 200;

export type RunOutcome = "done" | "aborted" | "failed";

/** Writes a run to a terminal as it goes: the answer as text, tool calls and results on lines of their own. */
export async function showRun(
  run: AsyncIterable<AgentChunk>,
  write: (text: string) => void,
  style: Style,
): Promise<{ outcome: RunOutcome; waiting: WaitingCall[] }> {
  let outcome: RunOutcome = "done";
  const waiting: WaitingCall[] = [];
  let atLineStart = true;
  const put = (text: string): void => {
    if (text === "") return;
    write(text);
    atLineStart = text.endsWith("\n");
  };
  const putLine = (line: string): void => put(`${atLineStart ? "" : "\n"}${line}\n`);

  for await (const chunk of run) {
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
        putLine(style.dim(`→ ${chunk.payload.toolName} ${toShown(chunk.payload.args)}`));
        break;
      case "tool-result":
        putLine(style.dim(`← ${toShown(chunk.payload.result)}`));
        break;
      case "tool-error":
        putLine(style.dim(`← failed: ${printable(errorMessage(chunk.payload.error))}`));
        break;
      case "tool-output-denied":
        putLine(style.dim("← declined"));
        break;
      case "tool-call-approval": {
        const { toolCallId, toolName, args } = chunk.payload;
        waiting.push({ runId: chunk.runId, toolCallId, toolName, args });
        break;
      }
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
    }
  }
  if (!atLineStart) put("\n");
  return { outcome, waiting };
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
