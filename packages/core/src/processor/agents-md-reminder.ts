import type { StoredMessage, ToolInvocation } from "@selvedge/protocol";
import type { SignalRecord } from "@selvedge/protocol/session";
import type { ProcessInputStepArgs, Processor } from "./processor.ts";

export interface AgentsMdReminderOptions {
  /** Gives the instructions at a path. The tool's own result when absent. */
  read?: (path: string) => string | undefined | Promise<string | undefined>;
}

const REMINDER = "dynamic-agents-md";
const MAX_LENGTH = 64_000;
const FILE_NAME = /(?:^|[/\\])AGENTS\.md$/;

/**
 * When a tool call has read an `AGENTS.md`, its instructions join the context as a `<system-reminder>`, once per path.
 * The file's author controls this text: use it only with files you trust.
 */
export class AgentsMdReminder implements Processor {
  readonly id = "agents-md-reminder";
  readonly #read: AgentsMdReminderOptions["read"];

  constructor(options: AgentsMdReminderOptions = {}) {
    this.#read = options.read;
  }

  async processInputStep({ messages, sendSignal, state }: ProcessInputStepArgs): Promise<void> {
    const sent = ((state["sent"] as Set<string>) ??= new Set(messages.flatMap(remindedPath)));
    for (const message of messages) {
      for (const part of message.content.parts) {
        if (
          part.type !== "tool-invocation" ||
          part.toolInvocation.state !== "result" ||
          part.toolInvocation.isError
        )
          continue;
        const path = findPath(part.toolInvocation.args);
        if (path === undefined || sent.has(path)) continue;
        sent.add(path);
        const text = this.#read ? await this.#read(path) : resultText(part.toolInvocation);
        if (!text) continue;
        const attributes = { type: REMINDER, path };
        await sendSignal({ type: "reactive", contents: text.slice(0, MAX_LENGTH), attributes });
      }
    }
  }
}

function remindedPath(message: StoredMessage): string[] {
  const signal = message.content.metadata?.["signal"] as Partial<SignalRecord> | undefined;
  const { type, path } = signal?.attributes ?? {};
  return type === REMINDER && typeof path === "string" ? [path] : [];
}

/** The first argument that names such a file. */
function findPath(args: unknown): string | undefined {
  if (typeof args !== "object" || args === null) return undefined;
  return Object.values(args).find(
    (value): value is string => typeof value === "string" && FILE_NAME.test(value),
  );
}

function resultText({ result }: ToolInvocation): string | undefined {
  if (typeof result === "string") return result;
  const { content, text, contents } = Object(result) as Record<string, unknown>;
  return [content, text, contents].find((value): value is string => typeof value === "string");
}
