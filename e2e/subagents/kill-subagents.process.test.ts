import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Child } from "../controller/child-process.ts";
import type { ChildConfig, KillAt } from "./child.ts";

const PROGRAM = fileURLToPath(new URL("./child.ts", import.meta.url));
interface Look {
  waiting: string | null;
  left: number;
  children: number;
  isDone: boolean;
}

let folder: string;
let children: Child[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "selvedge-"));
  children = [];
  writeFileSync(join(folder, "marks"), "");
});
afterEach(async () => {
  for (const child of children) await child.kill();
  rmSync(folder, { recursive: true });
});

function child(kill?: KillAt): Child {
  const config: ChildConfig = {
    file: join(folder, "store.db"),
    marks: join(folder, "marks"),
    ...(kill && { kill }),
  };
  const one = new Child(config, PROGRAM);
  children.push(one);
  return one;
}

const look = async (one: Child) => (await one.do("look"))?.value as Look | undefined;
async function until(one: Child, matches: (seen: Look) => boolean): Promise<Look | undefined> {
  for (;;) {
    const seen = await look(one);
    if (!seen || matches(seen)) return seen;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

describe("a process that is killed while a subagent works or waits", () => {
  // The parent's thread is the first and the subagent's the second; the subagent waits first, and its parent with it.
  const points = (["thread", "step", "waiting"] as const).flatMap((point) =>
    [1, 2].map((nth) => ({ point, nth })),
  );
  const cases = [...points, { point: "decision" as const, nth: 1 }].flatMap((at) =>
    (["before", "after"] as const).map((when): KillAt => ({ ...at, when })),
  );

  it.each(cases)(
    "leaves it to be found by another, which asks once and runs the tool once: $when $point $nth",
    { timeout: 120_000 },
    async (kill) => {
      const first = child(kill);
      if (await first.ready) {
        await first.do("go");
        const asked = await until(first, ({ waiting, isDone }) => waiting !== null || isDone);
        if (asked) await first.do("approve");
        await until(first, ({ isDone }) => isDone);
      }
      const second = child();
      expect(await second.ready).toBe(true);
      await second.do("go");
      const seen = (await until(second, ({ waiting, isDone }) => waiting !== null || isDone))!;
      if (seen.waiting !== null) {
        expect(seen.waiting).toBe("x1");
        expect((await second.do("approve"))!.ok).toBe(true);
      }
      await until(second, ({ isDone, left }) => isDone && left === 0);
      expect(readFileSync(join(folder, "marks"), "utf8").trim()).toBe("x1");
      expect((await look(second))!.children).toBe(1);
    },
  );
});
