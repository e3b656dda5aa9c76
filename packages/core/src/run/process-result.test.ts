import type { AgentChunk, MessagePart, StoredMessage } from "@selvedge/protocol";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agentWith } from "../agent/__fixtures__/agent-with.ts";
import { ON, onThread } from "../agent/__fixtures__/on-thread.ts";
import type { Processor } from "../processor/processor.ts";
import { readRunTimeline } from "../thread/inspect/run-timeline.ts";
import { createTool } from "../tool/tool.ts";

const SECRET = "4111-1111";
const hide = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value).replaceAll(SECRET, "[hidden]"));

/** Answers other messages, as most processors do. */
const replacing: Processor = { id: "replacing", processOutputResult: ({ messages }) => messages.map(hide) };
/** Changes the messages it was handed and answers nothing. */
const inPlace: Processor = {
  id: "in-place",
  processOutputResult: ({ messages }) => {
    for (const { role, content } of messages)
      if (role === "assistant") for (const part of content.parts) Object.assign(part, hide(part));
  },
};
/** Answers one text in the place of everything the model did. */
const flattening: Processor = {
  id: "flattening",
  processOutputResult: ({ messages }) =>
    messages.map((message): StoredMessage =>
      message.role === "assistant"
        ? { ...message, content: { format: 2, parts: [{ type: "text", text: "Nothing to see." }] } }
        : message,
    ),
};

const pay = createTool({
  id: "pay",
  description: "",
  execute: async ({ context }) => ({ card: (context as { card: string }).card, ok: true }),
});
const script = (card = SECRET) => [
  { text: `I use ${SECRET}.`, toolCalls: [{ toolName: "pay", input: { card } }] },
  { reasoning: `The card is ${SECRET}.`, text: ["Paid with ", SECRET, "."] },
];

/** Everything a caller can get hold of when the run is over, without the streams. */
async function everything(
  processor: Processor,
  { card }: { card: string } = { card: SECRET },
): Promise<{ said: string; text: string; steps: string[] }> {
  const { agent, messages, storage } = onThread(script(card), {
    tools: { pay },
    outputProcessors: [processor],
  });
  let finished: unknown;
  let last: unknown;
  const output = await agent.stream("go", {
    ...ON,
    onFinish: (event) => void (finished = event),
    onStepFinish: (step) => void (last = step),
  });
  const chunks: AgentChunk[] = [];
  for await (const chunk of output.fullStream) chunks.push(chunk);
  const full = await output.getFullOutput();
  const timeline = await readRunTimeline(storage, { threadId: "t1", runId: output.runId });
  const said = JSON.stringify([
    full,
    finished,
    last,
    await output.text,
    await output.steps,
    await output.content,
    await output.reasoning,
    await output.reasoningText,
    await output.toolCalls,
    await output.toolResults,
    await output.response,
    chunks.at(-1),
    chunks.findLast((chunk) => chunk.type === "step-finish"),
    await messages(),
    timeline!.timeline.at(-1),
  ]);
  return { said, text: full.text, steps: full.steps.map((step) => step.text) };
}

describe("an answer that processOutputResult changed", () => {
  it.each([replacing, inPlace])(
    "reaches the caller in every property, the history and the timeline: $id",
    async (processor) => {
      const { said, text, steps } = await everything(processor);
      expect(text).toBe("Paid with [hidden].");
      expect(steps).toEqual(["I use [hidden].", "Paid with [hidden]."]);
      expect(said).not.toContain(SECRET);
    },
  );

  it("takes the place of all steps where it keeps none of them apart", async () => {
    const { said, text, steps } = await everything(flattening);
    expect(text).toBe("Nothing to see.");
    expect(steps).toEqual(["", "Nothing to see."]);
    expect(said).not.toContain(SECRET);
  });

  it("is what a structured answer is read from", async () => {
    const schema = z.object({ card: z.string() });
    const { agent } = agentWith([{ object: { card: SECRET } }], { outputProcessors: [replacing] });
    const { object, text } = await agent.generate("go", { structuredOutput: { schema } });
    expect([object, text]).toEqual([{ card: "[hidden]" }, '{"card":"[hidden]"}']);
  });

  it("is what telemetry records", async () => {
    const recorded: unknown[] = [];
    const span = {
      spanContext: () => ({ traceId: "1" }),
      setAttributes: (attributes: unknown) => void recorded.push(attributes),
      setStatus() {},
      recordException() {},
      end() {},
    };
    const tracer = { startSpan: () => span };
    const { agent } = agentWith([{ text: `It is ${SECRET}.` }], { outputProcessors: [replacing] });
    await agent.generate("go", { telemetry: { isEnabled: true, tracer: tracer as never } });
    expect(JSON.stringify(recorded)).toContain("It is [hidden].");
    expect(JSON.stringify(recorded)).not.toContain(SECRET);
  });
});

describe("an answer that processOutputResult refused", () => {
  const refusing: Processor = {
    id: "refusing",
    processOutputResult: ({ messages, abort }) => {
      if (JSON.stringify(messages).includes(SECRET)) abort("It names a card.");
    },
  };

  it("reaches neither the caller nor the history, and its calls keep their results", async () => {
    const { said, text, steps } = await everything(refusing, { card: "one" });
    expect([text, steps]).toEqual(["", ["", ""]]);
    expect(said).toContain("It names a card.");
    expect(said).not.toContain(SECRET);
    expect(said).toContain('"card":"one","ok":true');
  });

  it("is not what the model reads on the next turn", async () => {
    const { agent, model } = onThread([`It is ${SECRET}.`, "ok"], { outputProcessors: [refusing] });
    await agent.generate("go", ON);
    await agent.generate("again", { ...ON, outputProcessors: [] });
    expect(model.calls[1]!.prompt.map(({ role }) => role)).toEqual(["system", "user", "user"]);
  });
});

describe("a step that processOutputStep changed", () => {
  const edit = (change: (part: MessagePart) => MessagePart[]): Processor => ({
    id: "edit",
    processOutputStep: ({ messages }) =>
      messages.map((message) => ({
        ...message,
        content: { ...message.content, parts: message.content.parts.flatMap(change) },
      })),
  });
  const seen: unknown[] = [];
  const note = createTool({ id: "pay", description: "", execute: async ({ context }) => seen.push(context) });

  it("has its tools called with the arguments that were left", async () => {
    const { agent } = agentWith(script(), {
      tools: { pay: note },
      outputProcessors: [edit((part) => [hide(part)])],
    });
    const { toolCalls } = await agent.generate("go");
    expect(seen.splice(0)).toEqual([{ card: "[hidden]" }]);
    expect(toolCalls).toMatchObject([
      { args: { card: "[hidden]" }, payload: { args: { card: "[hidden]" } } },
    ]);
  });

  it("does not make the calls that were taken out", async () => {
    const dropped = edit((part) => (part.type === "tool-invocation" ? [] : [part]));
    const { agent } = agentWith(script(), { tools: { pay: note }, outputProcessors: [dropped] });
    const { toolCalls, text } = await agent.generate("go");
    expect([seen, toolCalls, text]).toEqual([[], [], `I use ${SECRET}.`]);
  });
});

describe("a tool's error that processToolResult changed", () => {
  it("is shown on the stream as it was changed", async () => {
    const fails = createTool({
      id: "pay",
      description: "",
      execute: async () => {
        throw new Error(`No such card: ${SECRET}`);
      },
    });
    const { agent } = agentWith([{ toolCalls: [{ toolName: "pay", input: {} }] }, "done"], {
      tools: { pay: fails },
      outputProcessors: [{ id: "p", processToolResult: ({ result }) => ({ result: hide(result) }) }],
    });
    const output = await agent.stream("go");
    const chunks: AgentChunk[] = [];
    for await (const chunk of output.fullStream) chunks.push(chunk);
    expect(chunks.find((chunk) => chunk.type === "tool-error")).toMatchObject({
      payload: { error: "No such card: [hidden]" },
    });
    expect(JSON.stringify(chunks)).not.toContain(SECRET);
  });
});
