import type { AgentExecutionOptions } from "@selvedge/core/agent";
import { InMemoryStorage } from "@selvedge/core/storage";
import { describe, expect, it } from "vitest";
import { carefulObserver, LONG, omWorld } from "../__fixtures__/om-world.ts";

interface Noted {
  name: string;
  attributes: Record<string, unknown>;
  ended: number;
}

/** Default options with a tracer that keeps the spans of observational memory. */
function noted(): { defaults: AgentExecutionOptions; spans: Noted[] } {
  const spans: Noted[] = [];
  const startSpan = (name: string, { attributes = {} }: { attributes?: object } = {}) => {
    const one: Noted = { name, attributes: { ...attributes }, ended: 0 };
    if (name.startsWith("observational_memory")) spans.push(one);
    const span = {
      spanContext: () => ({ traceId: "trace", spanId: "span", traceFlags: 1 }),
      setAttributes: (more: object) => (Object.assign(one.attributes, more), span),
      setStatus: () => span,
      recordException: () => {},
      end: () => void one.ended++,
    };
    return span;
  };
  return { defaults: { telemetry: { isEnabled: true, tracer: { startSpan } as never } }, spans };
}

describe("the spans of observational memory", () => {
  it("have the role, model, tokens and outcome of each attempt", async () => {
    const { defaults, spans } = noted();
    const world = omWorld({
      storage: new InMemoryStorage(),
      defaults,
      om: { reflection: { observationTokens: 60 } },
      observer: (call) => {
        if (call.index === 0) throw Object.assign(new Error("forbidden"), { statusCode: 403 });
        return carefulObserver(call);
      },
    });
    for (let at = 0; at < 8; at++) await world.turn(`question ${at} ${LONG}`);
    expect(spans.map(({ ended }) => ended)).toEqual(spans.map(() => 1));
    expect(spans[0]).toMatchObject({
      name: "observational_memory observe",
      attributes: {
        "gen_ai.agent.id": "a",
        "gen_ai.conversation.id": "t",
        "selvedge.om.attempt": 1,
        "selvedge.om.outcome": "failed",
      },
    });
    for (const [kind, model] of [
      ["observe", "observer"],
      ["reflect", "reflector"],
    ]) {
      const done = spans.find(
        ({ name, attributes }) =>
          name === `observational_memory ${kind}` && attributes["selvedge.om.outcome"] === "done",
      );
      expect(done?.attributes["gen_ai.request.model"]).toContain(model);
      expect(done?.attributes["gen_ai.usage.input_tokens"]).toEqual(expect.any(Number));
      expect(done?.attributes["gen_ai.usage.output_tokens"]).toEqual(expect.any(Number));
    }
    await world.agent.close();
  });

  it("are absent unless the agent's default options turn telemetry on", async () => {
    const { defaults, spans } = noted();
    defaults.telemetry = { ...defaults.telemetry, isEnabled: false };
    const world = omWorld({ storage: new InMemoryStorage(), defaults });
    for (let at = 0; at < 3; at++) await world.turn(`question ${at} ${LONG}`);
    expect(world.observer.calls.length).toBeGreaterThan(0);
    expect(spans).toEqual([]);
    await world.agent.close();
  });
});
