import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AgentError } from "../errors.ts";
import { createTool } from "../tool/tool.ts";
import { agentWith } from "./__fixtures__/agent-with.ts";

const OPTIONS = [
  "abortSignal",
  "context",
  "instructions",
  "system",
  "memory",
  "threadId",
  "resourceId",
  "memoryOptions",
  "maxSteps",
  "maxRetries",
  "stopWhen",
  "prepareStep",
  "temperature",
  "modelSettings",
  "model",
  "providerOptions",
  "output",
  "experimental_output",
  "structuredOutput",
  "toolChoice",
  "toolsets",
  "clientTools",
  "activeTools",
  "requireToolApproval",
  "toolCallConcurrency",
  "inputProcessors",
  "outputProcessors",
  "maxProcessorRetries",
  "onFinish",
  "onStepFinish",
  "onChunk",
  "onError",
  "onAbort",
  "runId",
  "requestContext",
  "runtimeContext",
  "telemetry",
  "limits",
  "includeRawChunks",
];

const garbage = fc.anything({
  withBigInt: true,
  withDate: true,
  withMap: true,
  withNullPrototype: true,
  withSet: true,
  withTypedArray: true,
  withObjectString: true,
  maxDepth: 3,
});
const partType = fc.constantFrom(
  "text",
  "file",
  "image",
  "reasoning",
  "tool-call",
  "tool-result",
  "tool-invocation",
  "tool-x",
  "dynamic-tool",
  "source",
  "step-start",
  "data-x",
  "nonsense",
  "__proto__",
);
const part = fc.record(
  {
    type: fc.oneof(partType, garbage),
    text: garbage,
    data: garbage,
    mediaType: garbage,
    toolCallId: garbage,
    toolName: garbage,
    input: garbage,
    output: garbage,
    toolInvocation: garbage,
    source: garbage,
  },
  { requiredKeys: ["type"] },
);
const role = fc.constantFrom("user", "assistant", "system", "tool", "signal", "robot");
const content = fc.oneof(
  garbage,
  fc.array(part),
  fc.record({ format: fc.constant(2), parts: fc.array(fc.oneof(part, garbage)) }),
);
const message = fc.record(
  {
    role: fc.oneof(role, garbage),
    content,
    parts: fc.oneof(garbage, fc.array(part)),
    id: garbage,
    createdAt: garbage,
    metadata: garbage,
    providerOptions: garbage,
  },
  { requiredKeys: ["role"] },
);
const input = fc.oneof(garbage, message, fc.array(fc.oneof(message, garbage, fc.string())));
const options = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.dictionary(
      fc.constantFrom(...OPTIONS),
      fc.oneof(
        garbage,
        fc.constant(() => undefined),
      ),
      { maxKeys: 3 },
    ),
  },
  { weight: 1, arbitrary: garbage },
);

/** Gives anything to `generate`; only a result or a typed error may come back. */
async function probe(messages: unknown, given: unknown): Promise<void> {
  const t = createTool({ id: "t", description: "", execute: async () => 1 });
  const { agent } = agentWith([{ toolCalls: [{ toolName: "t", input: {} }] }, "ok"], { tools: { t } });
  try {
    await agent.generate(messages as never, given as never);
  } catch (error) {
    if (!AgentError.is(error)) throw error;
    expect(error.message).not.toMatch(/Cannot read|is not a function|is not iterable|undefined \(reading/);
  }
}
describe("whatever is given to an agent", () => {
  it("as messages, only typed errors come back", async () => {
    await fc.assert(
      fc.asyncProperty(input, (messages) => probe(messages, undefined)),
      { numRuns: 1000 },
    );
  });

  it("as options, only typed errors come back", async () => {
    await fc.assert(
      fc.asyncProperty(options, (given) => probe("hi", given)),
      { numRuns: 1000 },
    );
  });

  it("cannot pollute a prototype", async () => {
    const hostile = JSON.parse(
      '{"__proto__":{"polluted":1},"modelSettings":{"__proto__":{"polluted":1}},"constructor":{"prototype":{"polluted":1}}}',
    );
    await agentWith(["ok"], { defaultOptions: { modelSettings: {} } }).agent.generate("hi", hostile);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });
});
