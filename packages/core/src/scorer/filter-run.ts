import type { StoredMessage } from "@selvedge/protocol";
import type { ScorerRun } from "./scorer.ts";

export interface FilterRunOptions {
  /** Keep only parts of these types. Of a message without any of them, nothing is kept. */
  partTypes?: readonly string[];
  /** Keep only calls of these tools. Other parts stay. */
  toolNames?: readonly string[];
  /** Keep at most this many messages of the history. */
  maxRememberedMessages?: number;
  /** Keep system messages. Default: true. */
  includeSystemMessages?: boolean;
  /** Keep only messages for which this returns true. */
  messages?: (message: StoredMessage) => boolean;
  /** Leave out these fields of the run, such as `requestContext`. */
  dropFields?: readonly string[];
}

/** Makes a `prepareRun` that keeps only a part of what is scored: a judge then reads and costs less. */
export function filterRun(options: FilterRunOptions): (run: ScorerRun) => ScorerRun {
  const {
    partTypes,
    toolNames,
    maxRememberedMessages,
    includeSystemMessages = true,
    dropFields = [],
  } = options;
  const isWanted = ({ type, ...part }: StoredMessage["content"]["parts"][number]): boolean => {
    if (partTypes && !partTypes.includes(type)) return false;
    if (!toolNames || type !== "tool-invocation") return true;
    return toolNames.includes((part as { toolInvocation: { toolName: string } }).toolInvocation.toolName);
  };
  const filter = (messages: readonly StoredMessage[]): StoredMessage[] =>
    messages
      .filter((message) => options.messages?.(message) ?? true)
      .map((message) => ({
        ...message,
        content: { ...message.content, parts: message.content.parts.filter(isWanted) },
      }))
      .filter(({ content }) => content.parts.length > 0);
  return (run) => {
    const { input, output } = run as { input?: Record<string, unknown>; output: unknown };
    const kept: ScorerRun = { ...run };
    for (const field of dropFields) delete kept[field];
    if (isMessages(output) && !dropFields.includes("output")) kept.output = filter(output);
    if (isMessages(input?.["inputMessages"]) && !dropFields.includes("input")) {
      const remembered = filter((input["rememberedMessages"] ?? []) as StoredMessage[]);
      kept.input = {
        ...input,
        inputMessages: filter(input["inputMessages"]),
        rememberedMessages:
          maxRememberedMessages === undefined
            ? remembered
            : remembered.slice(Math.max(0, remembered.length - maxRememberedMessages)),
        ...(!includeSystemMessages && { systemMessages: [], taggedSystemMessages: {} }),
      };
    }
    return kept;
  };
}

function isMessages(value: unknown): value is StoredMessage[] {
  return (
    Array.isArray(value) &&
    value.every((one) => Array.isArray((one as Partial<StoredMessage> | null)?.content?.parts))
  );
}
