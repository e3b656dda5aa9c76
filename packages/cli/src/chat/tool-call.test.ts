import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { diffLines } from "@selvedge/protocol";
import { describeCall, diffOf, type ShownCall } from "./tool-call.ts";

const call = (more: Partial<ShownCall>): ShownCall => ({
  id: "c",
  name: "t",
  args: {},
  status: "running",
  ...more,
});

describe("describeCall", () => {
  it("says what is called and what came of it, on one line", () => {
    expect(describeCall(call({ args: { text: "a\nb" } }))).toBe('t "a b"');
    expect(describeCall(call({ args: { path: "a.ts", text: "x" } }))).toBe('t "a.ts"');
    expect(describeCall(call({ args: { a: 1, b: 2 } }))).toBe('t {"a":1,"b":2}');
    expect(describeCall(call({ status: "waiting" }))).toBe("t · waiting for you");
    expect(describeCall(call({ status: "stopped" }))).toBe("t · stopped");
    expect(describeCall(call({ status: "done", result: { value: 1 } }))).toBe('t → {"value":1}');
    expect(describeCall(call({ status: "done", result: { content: "It is done.", isError: false } }))).toBe(
      "t → It is done.",
    );
  });

  it("counts tasks", () => {
    const tasks = [{ status: "completed" }, { status: "pending" }];
    const line = describeCall(call({ args: { tasks }, status: "done", result: { tasks } }));
    expect(line).toBe("t 2 tasks → 1 of 2 tasks done");
  });

  it("leaves room for the result after long arguments", () => {
    const line = describeCall(call({ args: { text: "x".repeat(500) }, status: "done", result: "fine" }));
    expect(line.length).toBeLessThan(80);
    expect(line).toMatch(/…" → fine$/);
  });
});

describe("diffOf", () => {
  const shown = (one: ShownCall) => diffOf(one).map(({ sign, text }) => sign + text);

  it("compares what an edit takes out with what it puts in", () => {
    const args = { path: "a", old_string: "1\n2\n3\n4\n5\n6", new_string: "1\n2\n3\nfour\n5\n6" };
    expect(shown(call({ args }))).toEqual([" 2", " 3", "-4", "+four", " 5", " 6"]);
    expect(shown(call({ args: { newText: "a\nb\n" } }))).toEqual(["+a", "+b"]);
  });

  it("takes a patch from the result, without its head", () => {
    const diff = "--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n same";
    expect(shown(call({ result: { diff } }))).toEqual(["-old", "+new", " same"]);
  });

  it("shows the beginning of a long one, and nothing of a call that edits nothing", () => {
    const long = diffOf(call({ args: { new_string: "x\n".repeat(5000) } }));
    expect(long).toHaveLength(41);
    expect(long.at(-1)?.text).toBe("… 4960 more lines");
    expect(diffOf(call({ args: { text: "x" } }))).toEqual([]);
  });
});

describe("diffLines", () => {
  it("gives both texts back, however they differ", () => {
    const text = fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 12 }).map((lines) => lines.join("\n"));
    fc.assert(
      fc.property(text, text, (before, after) => {
        const lines = diffLines(before, after);
        const signs = lines.filter(({ sign }) => sign !== " ");
        const kept = (keep: string, whole: string) => {
          const own = lines
            .filter(({ sign }) => sign !== (keep === "-" ? "+" : "-"))
            .map((line) => line.text);
          // What is far from every change is left out.
          let at = 0;
          for (const line of whole === "" ? [] : whole.split("\n")) if (own[at] === line) at++;
          return at === own.length;
        };
        expect(signs.length > 0).toBe(before !== after);
        expect(kept("-", before)).toBe(true);
        expect(kept("+", after)).toBe(true);
      }),
    );
  });
});
