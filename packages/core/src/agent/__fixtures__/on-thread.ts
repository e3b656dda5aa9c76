import type { StoredMessage } from "@selvedge/protocol";
import { Memory } from "@selvedge/memory";
import { type Script, type ScriptedModel, scriptedModel } from "@selvedge/testing";
import { silentLogger } from "../../logger.ts";
import { InMemoryStorage } from "../../storage/in-memory-storage.ts";
import type { Storage } from "../../storage/storage.ts";
import { ACTORS, MAILBOX } from "../../storage/thread-tables.ts";
import type { AgentThreadSubscription, NumberedChunk } from "../../thread/threads.ts";
import { Agent } from "../agent.ts";
import type { AgentConfig } from "../agent-config.ts";

export const HERE = { threadId: "t1", resourceId: "r1" } as const;
export const ON = { memory: { thread: "t1", resource: "r1" } } as const;

/** An agent with a real memory, and everything a test wants to check. */
export interface OnThread {
  agent: Agent;
  model: ScriptedModel;
  memory: Memory;
  storage: Storage;
  /** The history as `role: text` lines; signals as `signal: text`. */
  history(threadId?: string): Promise<string[]>;
  messages(threadId?: string): Promise<StoredMessage[]>;
  /** The prompt of call number `index`, without the system messages. */
  asked(index: number): string[];
  /** Subscribes and collects. */
  follow(options?: { after?: number; threadId?: string; resourceId?: string }): Promise<Follower>;
  /** Waits until nothing runs or waits on the thread. */
  idle(threadId?: string): Promise<void>;
}

export function onThread(
  script: Script,
  config: Partial<AgentConfig> & { storage?: Storage; memoryOptions?: object } = {},
): OnThread {
  const { storage = new InMemoryStorage(), memoryOptions = { lastMessages: 50 }, ...rest } = config;
  const model = scriptedModel(script);
  const memory = new Memory({ storage, options: memoryOptions });
  const agent = new Agent({
    name: "tester",
    instructions: "Be brief.",
    model,
    memory,
    logger: silentLogger,
    ...rest,
  });
  const messages = async (threadId: string = HERE.threadId) => {
    const domain = await storage.getStore("memory");
    return (await domain!.listMessages({ threadId, perPage: false })).messages;
  };
  return {
    agent,
    model,
    memory,
    storage,
    messages,
    history: async (threadId) =>
      (await messages(threadId)).map((message) => `${message.role}: ${textOf(message)}`),
    asked: (index) =>
      model.calls[index]!.prompt.filter((message) => message.role !== "system").map((message) => {
        const content = message.content as {
          type: string;
          text?: string;
          toolName?: string;
          output?: unknown;
        }[];
        const parts = content.map((part) => part.text ?? `[${part.type} ${part.toolName ?? ""}]`);
        return `${message.role}: ${parts.join("|")}`;
      }),
    follow: async (options = {}) => new Follower(await agent.subscribeToThread({ ...HERE, ...options })),
    idle: async (threadId = HERE.threadId) => {
      await until(async () => {
        const waiting = await storage.count({ table: MAILBOX, where: { thread_id: threadId } });
        const active = await storage.count({
          table: ACTORS,
          where: { thread_id: threadId, run_state: { ne: "idle" } },
        });
        return waiting === 0 && active === 0;
      });
    },
  };
}

function textOf(message: StoredMessage): string {
  return message.content.parts
    .map((part) => {
      if (part.type === "text") return part.text;
      if (part.type === "tool-invocation")
        return `[${part.toolInvocation.toolName} ${part.toolInvocation.state}]`;
      return "";
    })
    .filter((text) => text !== "")
    .join("|");
}

/** A subscription and everything it has received. */
export class Follower {
  readonly subscription: AgentThreadSubscription;
  readonly chunks: NumberedChunk[] = [];
  readonly ended: Promise<unknown>;

  constructor(subscription: AgentThreadSubscription) {
    this.subscription = subscription;
    this.ended = (async () => {
      for await (const chunk of subscription.stream) this.chunks.push(chunk);
    })().then(
      () => undefined,
      (error: unknown) => error,
    );
  }

  get types(): string[] {
    return this.chunks.map((chunk) => chunk.type);
  }

  get text(): string {
    return this.chunks.map((chunk) => (chunk.type === "text-delta" ? chunk.payload.text : "")).join("");
  }

  /** Waits for this many chunks of a type. */
  async until(type: string, count = 1): Promise<NumberedChunk> {
    const found = () => this.chunks.filter((chunk) => chunk.type === type);
    await until(() => found().length >= count);
    return found()[count - 1]!;
  }

  stop(): void {
    this.subscription.unsubscribe();
  }
}

export function gate(): { opened: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}

/** After this long it counts as hanging, on any machine. */
const HANGS_AFTER_MS = 100_000;

export async function until(reached: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + HANGS_AFTER_MS;
  while (!(await reached())) {
    if (Date.now() > deadline) throw new Error(`Not reached: ${reached.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
