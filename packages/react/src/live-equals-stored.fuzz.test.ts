import { Agent } from "@selvedge/core/agent";
import { InMemoryStorage } from "@selvedge/core/storage";
import { createTool } from "@selvedge/core/tools";
import { Memory } from "@selvedge/memory";
import {
  type AgentChunk,
  type Answer,
  answerFrom,
  dropStep,
  foldChunk,
  LiveAnswer,
} from "@selvedge/protocol";
import type { NumberedChunk, WireMessage } from "@selvedge/protocol/routes";
import { scriptedModel } from "@selvedge/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { Transcript } from "./transcript.ts";

const HERE = { threadId: "t", resourceId: "r" };
const meta = fc.option(fc.constantFrom({ p: { signature: "s" } }, { q: { n: 1 } }), { nil: undefined });
const word = fc.constantFrom("a", "Hello ", "", "ß𝄞", "</b>", "§retry", "§stop", "§drop");
const id = fc.constantFrom("1", "2", "__proto__");

type Part = { type: string; [key: string]: unknown };
const withMeta = (part: Part, providerMetadata: unknown): Part => ({
  ...part,
  ...(providerMetadata !== undefined && { providerMetadata }),
});

/** Pieces of a reply, each a list of parts as a provider sends them. */
const block = fc
  .tuple(fc.constantFrom("text", "reasoning"), id, fc.array(word, { maxLength: 4 }), meta, meta, fc.boolean())
  .map(([kind, blockId, words, first, last, ends]) => [
    withMeta({ type: `${kind}-start`, id: blockId }, first),
    ...words.map((delta) => withMeta({ type: `${kind}-delta`, id: blockId, delta }, last)),
    ...(ends ? [withMeta({ type: `${kind}-end`, id: blockId }, last)] : []),
  ]);
const attachment = fc
  .tuple(fc.constantFrom("source", "file", "reasoning-file", "url"), meta)
  .map(([kind, said]) => {
    if (kind === "source")
      return [withMeta({ type: "source", sourceType: "url", id: "s", url: "https://a.b", title: "t" }, said)];
    const data =
      kind === "url" ? { type: "url", url: new URL("https://a.b/c.png") } : { type: "data", data: "AAAA" };
    return [withMeta({ type: kind === "url" ? "file" : kind, mediaType: "image/png", data }, said)];
  });
const toolName = fc.constantFrom("works", "fails", "writes", "asks", "suspends", "signals", "nobody");
const call = fc
  .tuple(
    fc.constantFrom("c1", "c2", "c3"),
    toolName,
    fc.constantFrom("{}", '{"n":1}', "not json"),
    meta,
    fc.boolean(),
  )
  .map(([callId, name, input, said, streams]) => [
    ...(streams
      ? [
          { type: "tool-input-start", id: callId, toolName: name },
          { type: "tool-input-delta", id: callId, delta: input },
          { type: "tool-input-end", id: callId },
        ]
      : []),
    withMeta({ type: "tool-call", toolCallId: callId, toolName: name, input }, said),
  ]);
const unfinishedCall = fc.constant([
  { type: "tool-input-start", id: "c4", toolName: "works" },
  { type: "tool-input-delta", id: "c4", delta: '{"n' },
]);
const providersCall = fc
  .tuple(meta, meta, fc.boolean(), fc.boolean())
  .map(([said, told, isError, answers]) => [
    withMeta(
      {
        type: "tool-call",
        toolCallId: "p1",
        toolName: "search",
        input: "{}",
        providerExecuted: true,
        dynamic: true,
      },
      said,
    ),
    ...(answers
      ? [
          withMeta(
            { type: "tool-result", toolCallId: "p1", toolName: "search", result: { hits: 1 }, isError },
            told,
          ),
        ]
      : []),
  ]);
const reply = fc.record({
  blocks: fc.array(fc.oneof(block, block, attachment, call, call, unfinishedCall, providersCall), {
    maxLength: 5,
  }),
  /** Blocks of which the parts come in turn. */
  mixed: fc.boolean(),
  end: fc.constantFrom("finish", "finish", "finish", "finish", "break", "abort"),
  at: fc.nat(12),
});
const run = fc.record({
  replies: fc.array(reply, { minLength: 1, maxLength: 3 }),
  decisions: fc.array(fc.constantFrom("approve", "decline", "abort"), { maxLength: 4 }),
  middle: fc.nat(60),
});

type Reply = typeof reply extends fc.Arbitrary<infer Value> ? Value : never;
type Run = typeof run extends fc.Arbitrary<infer Value> ? Value : never;

function toScript({ blocks, mixed, end, at }: Reply): object {
  const queues = blocks.map((each) => [...each]);
  const body = mixed
    ? Array.from({ length: Math.max(0, ...queues.map((queue) => queue.length)) }, (_, turn) =>
        queues.flatMap((queue) => queue[turn] ?? []),
      ).flat()
    : queues.flat();
  const calls = body.some((part) => part.type === "tool-call" && !("providerExecuted" in part));
  const reason = calls ? "tool-calls" : "stop";
  const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
  const parts = [
    { type: "stream-start", warnings: [] },
    ...body,
    { type: "finish", finishReason: { unified: reason, raw: reason }, usage },
  ];
  const after = 1 + (at % parts.length);
  return {
    parts,
    ...(end === "break" && { error: new Error("broke"), errorAfter: after }),
    ...(end === "abort" && { hang: { after } }),
  };
}

/** Lets a real agent answer on a thread, and gives what its readers saw and what is stored of it. */
async function live({
  replies,
  decisions,
}: Run): Promise<{ chunks: NumberedChunk[]; stored: WireMessage[] }> {
  const storage = new InMemoryStorage();
  let turn = 0;
  const tool = (name: string, execute: (input: any, context: any) => unknown, more: object = {}) =>
    createTool({ id: name, description: name, inputSchema: z.object({}).loose(), execute, ...more } as never);
  const agent: Agent = new Agent({
    name: "tester",
    instructions: "",
    model: scriptedModel(() => {
      const given = replies[turn++];
      if (!given) return "Done.";
      if (given.end === "abort") setTimeout(() => subscription.abort(), 2);
      return toScript(given) as never;
    }),
    memory: new Memory({ storage, options: { lastMessages: 20 } }),
    logger: { debug() {}, info() {}, warn() {}, error() {} } as never,
    tools: {
      works: tool("works", async () => ({ fine: [1, null] })),
      fails: tool("fails", async () => {
        throw new Error("no luck");
      }),
      writes: tool("writes", async (_, { writer }) => {
        await writer.write({ half: true });
        await writer.custom({ type: "data-seen", data: { n: 1 } });
        await writer.custom({ type: "data-gone", data: 2, transient: true });
        return "written";
      }),
      asks: tool(
        "asks",
        async ({ context }, { writer }) => {
          await writer.custom({ type: "data-asked", data: 3 });
          if (context["n"] === 1) subscription.abort();
          return "asked";
        },
        { requireApproval: true },
      ),
      suspends: tool("suspends", async (_, { suspend, resumeData }) => resumeData ?? suspend({ why: 1 })),
      signals: tool("signals", async () => {
        await agent.sendMessage("wait", HERE).admitted;
        return "sent";
      }),
    },
    outputProcessors: [
      {
        id: "guard",
        processOutputStream({ part }: { part: AgentChunk }) {
          if (part.type !== "text-delta") return part;
          const note = { type: "data-note", runId: part.runId, from: "AGENT", data: part.payload.text };
          if (part.payload.text === "a") return [part, note];
          return part.payload.text === "§drop" ? null : part;
        },
        processOutputStep({ text, abort }: { text: string; abort: (why: string, how?: object) => never }) {
          if (text.includes("§retry")) abort("again", { retry: true });
          if (text.includes("§stop")) abort("no");
        },
        async processOutputResult({ writer }: { writer: { custom(chunk: object): Promise<void> } }) {
          await writer.custom({ type: "data-late", data: 4 });
        },
      } as never,
    ],
  });
  const chunks: NumberedChunk[] = [];
  const subscription = await agent.subscribeToThread({ ...HERE, after: 0 });
  let question: string | undefined;
  const decide = async (toolCallId: string): Promise<void> => {
    const decision = decisions.shift() ?? "approve";
    if (decision === "abort") subscription.abort();
    else
      await agent.sendToolApproval({
        ...HERE,
        toolCallId,
        approved: decision === "approve",
        resumeData: { ok: true },
      });
  };
  const reading = (async () => {
    for await (const chunk of subscription.stream) {
      chunks.push(chunk);
      if (chunk.type === "tool-call-approval" || chunk.type === "tool-call-suspended")
        question ??= chunk.payload.toolCallId;
      if (chunk.type !== "finish" || chunk.payload.stepResult.reason !== "suspended") continue;
      void decide(question!);
      question = undefined;
    }
  })();
  const streamOptions = { maxProcessorRetries: 1, maxSteps: 20, maxRetries: 0 };
  await agent.sendMessage("go", { ...HERE, ifIdle: { streamOptions } }).admitted;
  // Idle, also after a moment in which a message that was left could have opened a run.
  for (let idle = 0; idle < 4; idle = subscription.activeRunId() === null ? idle + 1 : 0)
    await new Promise((resolve) => setTimeout(resolve, 2));
  subscription.unsubscribe();
  await reading;
  const domain = await storage.getStore("memory");
  const { messages } = await domain!.listMessages({ threadId: "t", perPage: false });
  return { chunks, stored: JSON.parse(JSON.stringify(messages)) as WireMessage[] };
}

/** The answers that a reader of the chunks has, going on from a snapshot that was made in the middle. */
function fold(chunks: readonly AgentChunk[], middle: number): { id: string; parts: unknown }[] {
  let answers = new Map<string, Answer>();
  let current: string | undefined;
  chunks.forEach((chunk, index) => {
    if (index === middle) answers = structuredClone(answers);
    if (chunk.type === "step-start") {
      const { messageId } = chunk.payload;
      if (current !== undefined && current !== messageId) dropStep(answers.get(current)!);
      current = messageId;
      if (!answers.has(messageId)) answers.set(messageId, answerFrom());
    }
    if (current !== undefined) foldChunk(answers.get(current)!, chunk);
  });
  return [...answers].flatMap(([key, { parts }]) => (parts.length > 0 ? [{ id: key, parts }] : []));
}

const answersIn = (messages: readonly WireMessage[]) =>
  messages
    .filter(({ role }) => role === "assistant")
    .map(({ id: key, content }) => ({ id: key, parts: content.parts }));
const answersOf = (transcript: Transcript) =>
  transcript.view
    .filter(({ role }) => role === "assistant")
    .map(({ id: key, parts }) => ({ id: key, parts }));

describe("an answer", () => {
  it("is shown while it is written as it is stored afterwards, whatever a run does", async () => {
    await fc.assert(
      fc.asyncProperty(run, async (given) => {
        const { chunks, stored } = await live({ ...given, decisions: [...given.decisions] });
        const answers = answersIn(stored);
        expect(fold(chunks, given.middle % chunks.length)).toEqual(answers);
        const follows = new Transcript();
        for (const chunk of chunks) follows.take(chunk, true);
        expect(answersOf(follows)).toEqual(answers);
        const comesLate = new Transcript();
        comesLate.merge(stored, 0);
        for (const chunk of chunks) comesLate.take(chunk, true);
        expect(answersOf(comesLate)).toEqual(answers);
      }),
      { numRuns: 100 },
    );
  });

  it("costs the same for a late chunk as for an early one", () => {
    const text = (n: number): AgentChunk => ({
      type: "text-delta",
      runId: "r",
      from: "AGENT",
      payload: { id: "1", text: `${n} ` },
    });
    const answer = new LiveAnswer();
    const seen = new Set<unknown>();
    for (let n = 0; n < 10_000; n++) {
      answer.take(text(n));
      if (n % 100 === 0) seen.add(answer.parts[0]);
    }
    // Parts are made when they are read, not with every chunk, and stay as they were.
    expect(seen.size).toBe(100);
    expect(answer.parts).toHaveLength(1);
  });
});
