import { realSystem } from "@selvedge/core/memory";
import { MessageList } from "@selvedge/core/message";
import type {
  Processor,
  ProcessorContext,
  ProcessInputArgs,
  ProcessOutputResultArgs,
} from "@selvedge/core/processors";
import { RequestContext } from "@selvedge/core/request-context";
import type { StoredMessage } from "@selvedge/protocol";

export interface ProcessorRun {
  list: MessageList;
  input(processors: readonly Processor[]): Promise<void>;
  /** Runs the output processors after `answer`, and waits for what they left to `waitUntil`. */
  output(processors: readonly Processor[], answer: string): Promise<void>;
}

/** The part of a run that memory processors see: a message list, the thread, and work that may finish later. */
export function runOn(
  { threadId, resourceId }: { threadId: string; resourceId: string },
  input: string | StoredMessage[],
): ProcessorRun {
  const list = new MessageList(realSystem).add(input, "input");
  const later: Promise<unknown>[] = [];
  const requestContext = new RequestContext({ language: "German" });
  const context: ProcessorContext = {
    abort: (reason) => {
      throw new Error(reason);
    },
    requestContext,
    runtimeContext: requestContext,
    agent: { id: "agent", name: "agent" },
    abortSignal: new AbortController().signal,
    retryCount: 0,
    threadId,
    resourceId,
    runId: "run",
    state: {},
    writer: { custom: async () => {} },
    sendSignal: async () => {
      throw new Error("memory processors send no signals");
    },
    sendStateSignal: async () => {
      throw new Error("memory processors have no state lanes");
    },
    waitUntil: (work) => void later.push(work),
    threadState: undefined,
    logger: console,
    system: realSystem,
    startSpan: () => undefined,
  };
  const args = (): ProcessInputArgs => ({
    ...context,
    messages: list.get.all.db(),
    messageList: list,
    systemMessages: list.getSystemMessages(),
  });
  return {
    list,
    async input(processors) {
      for (const processor of processors) await processor.processInput?.(args());
    },
    async output(processors, answer) {
      list.add({ role: "assistant", content: answer }, "response");
      const result = { text: answer, steps: [] } as unknown as ProcessOutputResultArgs["result"];
      for (const processor of processors) await processor.processOutputResult?.({ ...args(), result });
      await Promise.all(later);
    },
  };
}

/** The texts of the messages in a list, in order. */
export function texts(messages: readonly StoredMessage[]): string[] {
  return messages.map((message) =>
    message.content.parts.map((part) => (part.type === "text" ? part.text : "")).join(""),
  );
}

/** Messages of a thread, one per text, user and assistant in turns. */
export function conversation(
  { threadId, resourceId }: { threadId: string; resourceId: string },
  ...lines: string[]
): StoredMessage[] {
  return lines.map((text, at) => ({
    id: `${threadId}-${at}`,
    role: at % 2 === 0 ? "user" : "assistant",
    createdAt: new Date(Date.UTC(2026, 0, 1, 0, 0, at)),
    threadId,
    resourceId,
    content: { format: 2, parts: [{ type: "text", text }] },
  }));
}
