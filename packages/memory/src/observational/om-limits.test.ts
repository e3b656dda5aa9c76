import { describe, expect, test } from "vitest";
import { resolveOmConfig } from "./om-config.ts";
import { checkOverrides, omLimits } from "./om-limits.ts";
import type { ObservationalMemoryOptions } from "./om-options.ts";
import { mustWait, type OmSums, planJobs } from "./plan-jobs.ts";

const limitsOf = (options: ObservationalMemoryOptions = {}, log = 0) =>
  omLimits(resolveOmConfig(options)!, {}, log);

describe("the limits of a record", () => {
  test("come from the defaults", () => {
    expect(limitsOf()).toEqual({
      messageTokens: 30_000,
      bufferTokens: 6000,
      keptTokens: 6000,
      blockMessagesAbove: 36_000,
      observationTokens: 40_000,
      reflectFrom: 20_000,
      blockLogAbove: 48_000,
    });
  });

  test.each([
    [{ bufferTokens: 5000 }, { bufferTokens: 5000 }],
    [{ bufferTokens: 0.5 }, { bufferTokens: 15_000 }],
    [{ bufferTokens: 1 }, { bufferTokens: 1 }],
    [{ bufferActivation: 0.7 }, { keptTokens: 9000 }],
    [{ bufferActivation: 1 }, { keptTokens: 0 }],
    [{ bufferActivation: 4000 }, { keptTokens: 4000 }],
    [{ blockAfter: 2 }, { blockMessagesAbove: 60_000 }],
    [{ blockAfter: 31_000 }, { blockMessagesAbove: 31_000 }],
    [
      { bufferTokens: false as const },
      { bufferTokens: undefined, blockMessagesAbove: 30_000, reflectFrom: 40_000 },
    ],
  ])("follow observation: %j", (observation, expected) => {
    expect(limitsOf({ observation })).toMatchObject(expected);
  });

  test("may differ for one record", () => {
    const config = resolveOmConfig({ observation: { bufferTokens: 5000 } })!;
    expect(omLimits(config, { messageTokens: 2000, observationTokens: 1000 })).toMatchObject({
      messageTokens: 2000,
      bufferTokens: 1999,
      keptTokens: 400,
      observationTokens: 1000,
      reflectFrom: 500,
    });
  });

  test.each([
    [0, 70_000],
    [10_000, 60_000],
    [40_000, 30_000],
    [90_000, 30_000],
  ])("share one budget: a log of %i tokens leaves %i for messages", (log, messageTokens) => {
    expect(limitsOf({ shareTokenBudget: true }, log).messageTokens).toBe(messageTokens);
  });

  test("are changed by whole numbers only", () => {
    const config = { observation: { messageTokens: 5 }, reflection: { observationTokens: 6 } };
    expect(checkOverrides(config)).toEqual({ messageTokens: 5, observationTokens: 6 });
    expect(() => checkOverrides({ observation: { messageTokens: 0.5 } })).toThrow(
      "`config.observation.messageTokens` must be a positive whole number of tokens, got 0.5.",
    );
  });
});

const sums = (given: Partial<OmSums>): OmSums => ({
  pendingTokens: 0,
  bufferedMessageTokens: 0,
  jobMessageTokens: 0,
  logTokens: 0,
  hasReflection: false,
  ...given,
});
const kinds = (given: Partial<OmSums>, options: ObservationalMemoryOptions = {}, turnEnded = false) =>
  planJobs(sums(given), limitsOf(options), { turnEnded }).map(({ kind }) => kind);

describe("an observation is due", () => {
  test("for every further interval", () => {
    expect(kinds({ pendingTokens: 5999 })).toEqual([]);
    expect(kinds({ pendingTokens: 6000 })).toEqual(["observe"]);
    expect(kinds({ pendingTokens: 11_999, bufferedMessageTokens: 6000 })).toEqual([]);
    expect(kinds({ pendingTokens: 12_000, bufferedMessageTokens: 6000 })).toEqual(["observe"]);
  });

  test("one at a time", () => {
    expect(kinds({ pendingTokens: 20_000, jobMessageTokens: 6000 })).toEqual([]);
  });

  test("at the threshold, if nothing can be activated", () => {
    const observation = { bufferTokens: 29_000 };
    expect(kinds({ pendingTokens: 30_000 }, { observation })).toEqual(["observe"]);
  });

  test("only at the threshold without buffering", () => {
    const options = { observation: { bufferTokens: false as const } };
    expect(kinds({ pendingTokens: 29_999 }, options)).toEqual([]);
    expect(kinds({ pendingTokens: 30_000 }, options)).toEqual(["observe"]);
  });

  test("when a turn ends, for any rest", () => {
    expect(kinds({ pendingTokens: 10 }, {}, true)).toEqual(["observe"]);
    expect(kinds({ pendingTokens: 10, bufferedMessageTokens: 10 }, {}, true)).toEqual([]);
  });

  test("for at most one window of a backlog", () => {
    const [job] = planJobs(sums({ pendingTokens: 500_000 }), limitsOf());
    expect(job).toEqual({ kind: "observe", maxTokens: 30_000 });
  });
});

describe("a reflection is due", () => {
  test("from its share of the log on", () => {
    expect(kinds({ logTokens: 19_999 })).toEqual([]);
    expect(kinds({ logTokens: 20_000 })).toEqual(["reflect"]);
  });

  test("at the threshold without background work", () => {
    const options = { observation: { bufferTokens: false as const } };
    expect(kinds({ logTokens: 39_999 }, options)).toEqual([]);
    expect(kinds({ logTokens: 40_000 }, options)).toEqual(["reflect"]);
  });

  test("once, and again only after chunks were added", () => {
    expect(kinds({ logTokens: 25_000, hasReflection: true })).toEqual([]);
    expect(kinds({ logTokens: 25_000, triedLogTokens: 25_000 })).toEqual([]);
    expect(kinds({ logTokens: 25_500, triedLogTokens: 25_000 })).toEqual(["reflect"]);
  });
});

describe("a run waits", () => {
  const wait = (given: Partial<OmSums>, options: ObservationalMemoryOptions = {}) =>
    mustWait(sums(given), limitsOf(options));

  test("only above blockAfter while buffering", () => {
    expect(wait({ pendingTokens: 36_000, logTokens: 48_000 })).toEqual({ observe: false, reflect: false });
    expect(wait({ pendingTokens: 36_001, logTokens: 48_001 })).toEqual({ observe: true, reflect: true });
  });

  test("at the threshold without buffering", () => {
    const options = { observation: { bufferTokens: false as const } };
    expect(wait({ pendingTokens: 29_999, logTokens: 39_999 }, options)).toEqual({
      observe: false,
      reflect: false,
    });
    expect(wait({ pendingTokens: 30_000, logTokens: 40_000 }, options)).toEqual({
      observe: true,
      reflect: true,
    });
  });

  test("not for what is observed already", () => {
    expect(wait({ pendingTokens: 40_000, bufferedMessageTokens: 40_000 }).observe).toBe(false);
  });
});
