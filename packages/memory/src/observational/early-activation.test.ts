import { describe, expect, test } from "vitest";
import { earlyActivation, promptCacheMs } from "./early-activation.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

test.each([
  ["anthropic/claude-sonnet-4-5", undefined, 5 * MINUTE],
  ["xai/grok-4", undefined, 5 * MINUTE],
  ["openrouter/openai/gpt-6", undefined, 5 * MINUTE],
  ["nobody/knows", undefined, 5 * MINUTE],
  ["", undefined, 5 * MINUTE],
  ["deepseek/deepseek-chat", undefined, HOUR],
  ["groq/llama-4", undefined, 2 * HOUR],
  ["google/gemini-2.5-pro", undefined, 24 * HOUR],
  ["openai/gpt-5.5", "in_memory", 5 * MINUTE],
  ["openai/gpt-4o", "24h", HOUR],
  ["openai/gpt-4o", undefined, 5 * MINUTE],
  ["openai/gpt-4.1-mini", undefined, 5 * MINUTE],
  ["openai/gpt-5", undefined, 5 * MINUTE],
  ["openai/gpt-5-mini", undefined, 5 * MINUTE],
  ["openai/gpt-5.4", undefined, 5 * MINUTE],
  ["openai/gpt-5.5", undefined, HOUR],
  ["openai/gpt-6-nano", undefined, HOUR],
  ["openai/o3", undefined, 5 * MINUTE],
])("the prompt cache of %s (%s) lasts %i ms", (model, retention, ms) => {
  expect(promptCacheMs(model, retention)).toBe(ms);
});

describe("buffered observations are activated early", () => {
  const input = {
    now: 10 * HOUR,
    lastActivityAt: 9 * HOUR,
    previousModel: "openai/gpt-5",
    currentModel: "openai/gpt-5",
  };
  const off = { activateAfterIdle: undefined, activateOnProviderChange: false };

  test("not unless an option asks for it", () => {
    expect(earlyActivation(off, { ...input, currentModel: "groq/llama" })).toBeUndefined();
  });

  test("after a pause", () => {
    expect(earlyActivation({ ...off, activateAfterIdle: HOUR }, input)).toEqual({
      triggeredBy: "ttl",
      lastActivityAt: 9 * HOUR,
      ttlExpiredMs: 0,
    });
    expect(earlyActivation({ ...off, activateAfterIdle: HOUR + 1 }, input)).toBeUndefined();
  });

  test("by the cache of the next model", () => {
    const role = { ...off, activateAfterIdle: "auto" as const };
    expect(earlyActivation(role, input)).toMatchObject({ ttlExpiredMs: 55 * MINUTE });
    expect(earlyActivation(role, { ...input, currentModel: "groq/llama" })).toBeUndefined();
  });

  test("when the model changes", () => {
    const role = { ...off, activateOnProviderChange: true };
    expect(earlyActivation(role, { ...input, currentModel: "groq/llama" })).toEqual({
      triggeredBy: "provider_change",
      previousModel: "openai/gpt-5",
      currentModel: "groq/llama",
    });
    expect(earlyActivation(role, input)).toBeUndefined();
    expect(earlyActivation(role, { ...input, previousModel: undefined })).toBeUndefined();
  });

  test("not before the assistant has said anything", () => {
    expect(
      earlyActivation({ ...off, activateAfterIdle: 1 }, { ...input, lastActivityAt: undefined }),
    ).toBeUndefined();
  });
});
