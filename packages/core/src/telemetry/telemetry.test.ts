import type { Attributes, Context, Span, SpanOptions, SpanStatus, Tracer } from "@opentelemetry/api";
import type { ProcessInputStepArgs } from "../processor/processor.ts";
import { trace } from "@opentelemetry/api";
import { describe, expect, it } from "vitest";
import { agentWith } from "../agent/__fixtures__/agent-with.ts";
import { createTool } from "../tool/tool.ts";

interface Noted {
  name: string;
  attributes: Attributes;
  parent: string | undefined;
  status?: SpanStatus;
  exceptions: unknown[];
  ended: number;
}

/** A tracer that keeps its spans. */
function notingTracer(): { tracer: Tracer; spans: Noted[] } {
  const spans: Noted[] = [];
  const names = new WeakMap<Span, string>();
  const startSpan = (name: string, options: SpanOptions = {}, context?: Context): Span => {
    const parentSpan = context && trace.getSpan(context);
    const noted: Noted = {
      name,
      attributes: { ...options.attributes },
      parent: parentSpan && names.get(parentSpan),
      exceptions: [],
      ended: 0,
    };
    spans.push(noted);
    const span = {
      spanContext: () => ({ traceId: "trace-1", spanId: String(spans.length), traceFlags: 1 }),
      setAttributes: (more: Attributes) => (Object.assign(noted.attributes, more), span),
      setAttribute: (key: string, value: never) => ((noted.attributes[key] = value), span),
      setStatus: (status: SpanStatus) => ((noted.status = status), span),
      recordException: (error: unknown) => void noted.exceptions.push(error),
      end: () => void noted.ended++,
    } as unknown as Span;
    names.set(span, name);
    return span;
  };
  return { tracer: { startSpan } as unknown as Tracer, spans };
}

const t = createTool({ id: "t", description: "", execute: async () => "tool-said" });
const script = () => [{ toolCalls: [{ toolName: "t", input: { q: "args-said" } }] }, "model-said"];

/** Of the registry of OpenTelemetry's semantic conventions; those that a run uses. */
const REGISTERED: ReadonlySet<string> = new Set([
  "gen_ai.agent.id",
  "gen_ai.agent.name",
  "gen_ai.conversation.id",
  "gen_ai.input.messages",
  "gen_ai.operation.name",
  "gen_ai.output.messages",
  "gen_ai.provider.name",
  "gen_ai.request.model",
  "gen_ai.response.finish_reasons",
  "gen_ai.tool.call.arguments",
  "gen_ai.tool.call.id",
  "gen_ai.tool.call.result",
  "gen_ai.tool.name",
  "gen_ai.usage.input_tokens",
  "gen_ai.usage.output_tokens",
]);

describe("telemetry", () => {
  it("is off unless switched on", async () => {
    const { tracer, spans } = notingTracer();
    await agentWith(script(), { tools: { t } }).agent.generate("hi", { telemetry: { tracer } });
    expect(spans).toEqual([]);
  });

  it("adds what tracingOptions say to the settings of the run", async () => {
    const { tracer, spans } = notingTracer();
    const telemetry = { isEnabled: true, tracer, metadata: { a: 1, b: 2 } };
    await agentWith(script(), { tools: { t } }).agent.generate("user-said", {
      telemetry,
      tracingOptions: { metadata: { b: 3 }, hideInput: true, hideOutput: true, tags: ["x"] },
    });
    expect(spans[0]!.attributes).toMatchObject({ "selvedge.metadata.a": 1, "selvedge.metadata.b": 3 });
    expect(JSON.stringify(spans)).not.toContain("user-said");
    expect(spans.length).toBeGreaterThan(0);
  });

  it("names its spans by the GenAI conventions, nests and ends each", async () => {
    const { tracer, spans } = notingTracer();
    const output = await agentWith(script(), { tools: { t } }).agent.stream("user-said", {
      telemetry: { isEnabled: true, tracer, functionId: "f", metadata: { a: 1, b: null } },
    });
    await output.text;
    expect(output.traceId).toBe("trace-1");
    expect(spans.map((span) => [span.name, span.parent, span.ended])).toEqual([
      ["invoke_agent tester", undefined, 1],
      ["chat model", "invoke_agent tester", 1],
      ["execute_tool t", "invoke_agent tester", 1],
      ["chat model", "invoke_agent tester", 1],
    ]);
    for (const { attributes } of spans) {
      expect(attributes).toMatchObject({ "selvedge.function_id": "f", "selvedge.metadata.a": 1 });
      const names = Object.keys(attributes).filter((name) => name.startsWith("gen_ai."));
      expect(names.filter((name) => !REGISTERED.has(name))).toEqual([]);
    }
    expect(spans[0]!.attributes).toMatchObject({
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.name": "tester",
      "gen_ai.usage.input_tokens": 20,
      "gen_ai.response.finish_reasons": ["stop"],
    });
    expect(spans[1]!.attributes).toMatchObject({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "scripted",
      "gen_ai.request.model": "model",
      "gen_ai.usage.output_tokens": 5,
    });
    expect(spans[2]!.attributes).toMatchObject({
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "t",
      "gen_ai.tool.call.id": "call-1-1",
      "gen_ai.tool.call.arguments": '{"q":"args-said"}',
      "gen_ai.tool.call.result": "tool-said",
    });
    const all = JSON.stringify(spans);
    for (const said of ["user-said", "args-said", "tool-said", "model-said"]) expect(all).toContain(said);
  });

  it("shows when the system messages change, from step to step", async () => {
    const { tracer, spans } = notingTracer();
    const telemetry = { isEnabled: true, tracer, recordInputs: false };
    const hash = "selvedge.prompt.prefix_hash";
    const changing = {
      id: "changing",
      processInputStep: ({ stepNumber, systemMessages }: ProcessInputStepArgs) =>
        stepNumber < 2
          ? undefined
          : { systemMessages: [...systemMessages, { role: "system" as const, content: "new" }] },
    };
    const calls = { toolCalls: [{ toolName: "t", input: { q: "" } }] };
    const options = { tools: { t }, inputProcessors: [changing] };
    await agentWith([calls, calls, "done"], options).agent.generate("hi", { telemetry });
    const [first, second, third] = spans
      .filter(({ name }) => name.startsWith("chat"))
      .map(({ attributes }) => attributes[hash]);
    expect(first).toMatch(/^[0-9a-f]{16}$/);
    expect(second).toBe(first);
    expect(third).not.toBe(first);
  });

  it("leaves out what is not to be recorded", async () => {
    const { tracer, spans } = notingTracer();
    await agentWith(script(), { tools: { t } }).agent.generate("user-said", {
      telemetry: { isEnabled: true, tracer, recordInputs: false, recordOutputs: false },
    });
    expect(JSON.stringify(spans)).not.toMatch(/-said/);
  });

  it("does not quote in an error what is not to be recorded", async () => {
    const { tracer, spans } = notingTracer();
    const run = agentWith(["model-said"]).agent.generate("hi", {
      output: { type: "object", properties: {} },
      telemetry: { isEnabled: true, tracer, recordOutputs: false },
    });
    await expect(run).rejects.toMatchObject({ code: "structured-output-invalid" });
    expect(JSON.stringify(spans)).not.toContain("model-said");
    expect(spans[0]!.status).toMatchObject({ code: 2, message: "structured-output-invalid" });
  });

  it("marks what failed, and ends those spans too", async () => {
    const { tracer, spans } = notingTracer();
    const run = agentWith([{ error: new Error("down") }]).agent.generate("hi", {
      maxRetries: 0,
      telemetry: { isEnabled: true, tracer },
    });
    await expect(run).rejects.toThrow();
    expect(
      spans.map((span) => [span.name, span.ended, span.status?.code, span.attributes["error.type"]]),
    ).toEqual([
      ["invoke_agent tester", 1, 2, "model-failed"],
      ["chat model", 1, 2, "model-failed"],
    ]);
  });

  it("does not let a broken tracer break the run", async () => {
    const fails = () => {
      throw new Error("tracer");
    };
    const tracer = {
      startSpan: () => ({
        spanContext: () => ({ traceId: "x" }),
        setAttributes: fails,
        setStatus: fails,
        recordException: fails,
        end: fails,
      }),
    } as never;
    expect(
      (await agentWith(["ok"]).agent.generate("hi", { telemetry: { isEnabled: true, tracer } })).text,
    ).toBe("ok");
  });
});
