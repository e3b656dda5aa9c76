import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { getObservationsAsOf } from "./observations-as-of.ts";
import { CONTINUATION, LOG_EXPLAINED, RECALL_EXPLAINED } from "./om-texts.ts";
import { continuationMessage, joinLog, type LogChunk, type LogView, renderLog } from "./render-log.ts";
import { selectPreviousLog } from "./select-previous-log.ts";
import { countText } from "./count-tokens.ts";

const CHUNKS: LogChunk[] = [
  { text: "Date: 2026-03-14\n- 🔴 09:12 The name is Ada.", firstId: "m1", lastId: "m4" },
  { text: "Date: 2026-03-15\n- 🟢 10:00 She likes tea.", firstId: "m5", lastId: "m9" },
];
const retrieval = { vector: false, scope: "resource" as const, instructions: undefined };

describe("the prompt has", () => {
  test("nothing without observations", () => {
    expect(renderLog({ chunks: [], currentTask: "x" })).toEqual([]);
  });

  test("the fixed text, each chunk on its own, then the hints", () => {
    const view = {
      chunks: CHUNKS,
      currentTask: "a list",
      suggestedResponse: "ask",
      extracted: { z: { a: 1 }, mood: "good" },
    };
    expect(renderLog(view)).toEqual([
      LOG_EXPLAINED,
      "<observations>\nDate: 2026-03-14\n- 🔴 09:12 The name is Ada.\n</observations>",
      "<observations>\nDate: 2026-03-15\n- 🟢 10:00 She likes tea.\n</observations>",
      '<current-task>\na list\n</current-task>\n<suggested-response>\nask\n</suggested-response>\n<mood>\ngood\n</mood>\n<z>\n{"a":1}\n</z>',
    ]);
  });

  test("ranges and instructions for recall, if it is on", () => {
    const [, recall, first] = renderLog({
      chunks: CHUNKS,
      retrieval: { ...retrieval, instructions: "Cite." },
    });
    expect(recall).toBe(`${RECALL_EXPLAINED}\n\nCite.`);
    expect(first).toMatch(/^<observations range="m1:m4">\n/);
  });

  test("the thread of a chunk, in resource scope", () => {
    const [, first] = renderLog({ chunks: [{ text: "- a", threadId: 't">1' }] });
    expect(first).toBe('<observations thread="t&quot;>1">\n- a\n</observations>');
  });

  test("a continuation reminder with a fixed id", () => {
    expect(continuationMessage({ threadId: "t1" })).toMatchObject({
      id: "om-continuation",
      role: "signal",
      threadId: "t1",
      content: {
        parts: [{ text: CONTINUATION }],
        metadata: { signal: { type: "reactive", tagName: "system-reminder" } },
      },
    });
  });
});

describe("the prefix", () => {
  const chunk = fc.record({ text: fc.string(), firstId: fc.string(), lastId: fc.string() });
  const rest = fc.record({
    retrieval: fc.constantFrom(undefined, retrieval),
    currentTask: fc.option(fc.string(), { nil: undefined }),
    extracted: fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), fc.string()),
  });

  test("does not change when chunks are added", () => {
    fc.assert(
      fc.property(
        fc.array(chunk, { minLength: 1 }),
        fc.array(chunk),
        rest,
        rest,
        (first, added, before, after) => {
          const fixed = before.retrieval ? 2 : 1;
          const old = renderLog({ chunks: first, ...before });
          const next = renderLog({ chunks: [...first, ...added], ...after, retrieval: before.retrieval });
          expect(next.slice(0, fixed + first.length)).toEqual(old.slice(0, fixed + first.length));
        },
      ),
    );
  });

  test("depends on values alone, not on the order they were set in", () => {
    const view = (extracted: Record<string, unknown>): LogView => ({ chunks: CHUNKS, extracted });
    expect(renderLog(view({ a: 1, b: 2 }))).toEqual(renderLog(view({ b: 2, a: 1 })));
  });

  test("has no time of its own", () => {
    for (const text of [LOG_EXPLAINED, RECALL_EXPLAINED, CONTINUATION])
      expect(text).not.toMatch(/\d{4}|today|ago/);
  });
});

describe("getObservationsAsOf", () => {
  const log = joinLog([
    ...CHUNKS,
    { text: "- a note without a date, which belongs to the day before" },
    { text: "Date: 2026-03-15\n- 🔴 23:30 Late.\n  - detail\n- no time" },
  ]);

  test.each([
    ["2026-03-13T00:00:00Z", ""],
    ["2026-03-14T09:12:00Z", "Date: 2026-03-14\n- 🔴 09:12 The name is Ada."],
    [
      "2026-03-15T00:00:00Z",
      "Date: 2026-03-14\n- 🔴 09:12 The name is Ada.\nDate: 2026-03-15\n- a note without a date, which belongs to the day before\n- no time",
    ],
    [
      "2026-03-16T00:00:00Z",
      log.replaceAll("\n\n", "\n").replace("day before\nDate: 2026-03-15\n", "day before\n"),
    ],
  ])("keeps what was known at %s", (date, expected) => {
    expect(getObservationsAsOf(log, new Date(date))).toBe(expected);
  });

  test("compares in the time zone of the log", () => {
    const late = "Date: 2026-03-15\n- 🔴 00:30 Late.";
    expect(getObservationsAsOf(late, new Date("2026-03-14T23:45:00Z"), "Europe/Rome")).toBe(late);
    expect(getObservationsAsOf(late, new Date("2026-03-14T23:45:00Z"))).toBe("");
  });

  test("keeps lines that have no date at all", () => {
    expect(getObservationsAsOf("- a\n- b", new Date(0))).toBe("- a\n- b");
  });
});

describe("the log that the observer sees", () => {
  const lines = Array.from(
    { length: 100 },
    (_, index) => `- ${index % 10 ? "🟢" : "🔴"} 09:00 fact ${index} in some words`,
  );
  const log = `Date: 2026-03-14\n${lines.join("\n")}`;

  test("is all of it with false, and nothing with 0", () => {
    expect(selectPreviousLog(log, false)).toBe(log);
    expect(selectPreviousLog(log, 0)).toBe("");
  });

  test("has important lines first, then the newest", () => {
    const selected = selectPreviousLog(log, 300);
    expect(countText(selected)).toBeLessThanOrEqual(310);
    for (const line of lines.filter((one) => one.includes("🔴"))) expect(selected).toContain(line);
    expect(selected).toContain(lines[99]);
    expect(selected).not.toContain(lines[1]);
    expect(selected.startsWith("Date: 2026-03-14\n")).toBe(true);
  });

  test("keeps its order", () => {
    const numbers = [...selectPreviousLog(log, 300).matchAll(/fact (\d+)/g)].map(([, number]) =>
      Number(number),
    );
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
  });
});
