import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Child, type Seen } from "./child-process.ts";
import type { KillAt, Point } from "./kill-points.ts";
import { killSession, SCENARIOS } from "./run-session-kills.ts";

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
  const one = new Child({
    file: join(folder, "store.db"),
    marks: join(folder, "marks"),
    ...(kill && { kill }),
  });
  children.push(one);
  return one;
}

const marks = () => readFileSync(join(folder, "marks"), "utf8").split("\n").filter(Boolean);
const textOf = ({ messages }: Seen) =>
  messages.flatMap(({ content }) => content.flatMap((part) => part.text ?? [])).join(" ");
const isIdle = ({ runId }: Seen) => runId === null;
const waits = ({ waiting }: Seen) => waiting !== null;
/** What the scripted model reports for each step. */
const TOKENS = 15;
const stepsOf = ({ messages }: Seen) =>
  messages.filter(({ role }) => role === "assistant").flatMap(({ content }) => content).length;

/** Does its part until it is killed, which it always is. */
async function firstPart(kill: KillAt, what: "write" | "plan" | "delegate"): Promise<void> {
  const first = child(kill);
  if (!(await first.ready)) return;
  void first.do(what);
  await first.until(waits);
  await first.do(what === "plan" ? "approve plan" : "always");
  await first.exited;
}

describe("a process with a session that is killed", () => {
  const points: Point[] = ["session", "thread", "waiting", "decision", "usage"];
  const cases = points.flatMap((point) =>
    (["before", "after"] as const).map((when): KillAt => ({ point, when })),
  );

  it.each(cases)(
    "leaves decision and grant together or not at all, $when $point",
    { timeout: 120_000 },
    async (kill) => {
      await firstPart(kill, "write");
      const second = child();
      expect(await second.ready).toBe(true);
      let seen = (await second.look())!;
      const wasSent = textOf(seen).includes("please write") || seen.runId !== null;
      if (!wasSent) void second.do("write");
      seen = (await second.until(
        (now) => waits(now) || (isIdle(now) && textOf(now).includes("Written twice.")),
      ))!;
      if (waits(seen)) {
        // Nothing ran before its decision, and nobody was granted anything.
        expect([marks(), seen.grants.categories, seen.waiting]).toEqual([[], [], "w1"]);
        await second.do("always");
      }
      seen = (await second.until((now) => isIdle(now) && textOf(now).includes("Written twice.")))!;
      expect(marks()).toEqual(["w1", "w2"]);
      expect(seen.grants.categories).toEqual(["edit"]);
      expect(seen.waiting).toBeNull();
      expect(seen.tokens).toBe(3 * TOKENS);
      expect(stepsOf(seen)).toBe(5);
    },
  );

  it.each(
    (["decision", "task", "waiting"] as const).flatMap((point) =>
      (["before", "after"] as const).map((when): KillAt => ({ point, when })),
    ),
  )("leaves plan, mode and run in agreement, $when $point", { timeout: 120_000 }, async (kill) => {
    await firstPart(kill, "plan");
    const second = child();
    expect(await second.ready).toBe(true);
    let seen = (await second.until(
      (now) => waits(now) || (isIdle(now) && textOf(now).includes("Planned in")),
    ))!;
    if (waits(seen)) {
      expect(seen.mode).toBe("plan");
      await second.do("approve plan");
    }
    seen = (await second.until((now) => isIdle(now) && textOf(now).includes("Planned in")))!;
    expect(seen.mode).toBe("build");
    expect(textOf(seen)).toContain("Planned in build.");
    expect(seen.tasks.map(({ id }) => id)).toEqual(["task_warp"]);
    expect(seen.tokens).toBe(3 * TOKENS);
  });

  it.each(
    (["waiting", "decision", "usage"] as const).flatMap((point) =>
      (["before", "after"] as const).map((when): KillAt => ({ point, when })),
    ),
  )("finds its subagent again, and what it asks, $when $point", { timeout: 120_000 }, async (kill) => {
    await firstPart(kill, "delegate");
    const second = child();
    expect(await second.ready).toBe(true);
    let seen = (await second.until(
      (now) => waits(now) || (isIdle(now) && textOf(now).includes("Delegated.")),
    ))!;
    if (waits(seen)) {
      expect([marks(), seen.waiting]).toEqual([[], "h1"]);
      await second.do("always");
    }
    seen = (await second.until((now) => isIdle(now) && textOf(now).includes("Delegated.")))!;
    expect(marks()).toEqual(["h1"]);
    expect(seen.grants.categories).toEqual(["edit"]);
    expect(JSON.stringify(seen.messages)).toContain("Helped.");
  });

  const inside = (["fork", "consult", "ask"] as const).flatMap((name) =>
    SCENARIOS[name].points
      .filter((point) => point !== "session" && point !== "thread")
      .flatMap((point) =>
        (["before", "after"] as const).flatMap((when) =>
          (point === "waiting" && name !== "ask" ? [1, 2] : [1]).map((nth) => ({ name, point, when, nth })),
        ),
      ),
  );

  it.each(inside)(
    "loses and repeats nothing inside a fork, a subagent that asks, or a question: $name, $when $point $nth",
    { timeout: 120_000, tags: ["long"] },
    async ({ name, ...kill }) => {
      expect(await killSession(name, kill)).toEqual({ killed: true, problems: [] });
    },
  );

  it("loses and repeats nothing of a fork", { timeout: 120_000 }, async () => {
    const kill = { point: "open step", when: "after" } as const;
    expect(await killSession("fork", kill)).toEqual({ killed: true, problems: [] });
  });

  it.each([
    { name: "delegate", point: "delegation", when: "after" },
    { name: "consult", point: "waiting", when: "before" },
    { name: "plan", point: "decision", when: "after" },
  ] as const)(
    "is continued by a process that has the session open, which then shows what a new one shows: $name, $when $point",
    { timeout: 120_000 },
    async ({ name, ...kill }) => {
      expect(await killSession(name, kill, { witness: true })).toEqual({ killed: true, problems: [] });
    },
  );

  it("keeps what was queued, and answers it", { timeout: 120_000 }, async () => {
    const first = child();
    await first.ready;
    void first.do("write");
    await first.until(waits);
    await first.do("queue");
    expect((await first.look())!.queued).toBe(1);
    await first.kill();
    const second = child();
    await second.ready;
    expect((await second.look())!).toMatchObject({ queued: 1, waiting: "w1" });
    await second.do("always");
    const seen = (await second.until(
      (now) => isIdle(now) && textOf(now).includes("hello later") && now.queued === 0,
    ))!;
    expect(marks()).toEqual(["w1", "w2"]);
    expect(seen.messages.filter(({ role }) => role === "user")).toHaveLength(2);
  });
});

describe("two processes with one session", () => {
  it("end at 400 when each adds 200 to the state", { timeout: 120_000 }, async () => {
    const pair = [child(), child()];
    await Promise.all(pair.map((one) => one.ready));
    await Promise.all(pair.map((one) => one.do("increment", 200)));
    for (const one of pair) expect((await one.look())!.state).toEqual({ count: 400 });
  });

  it(
    "lose at most what was not acknowledged when one is killed while it changes the state",
    { timeout: 120_000 },
    async () => {
      const [killed, other] = [child({ point: "state", when: "after" }), child()];
      await Promise.all([killed.ready, other.ready]);
      const added = other.do("increment", 50);
      await killed.do("increment", 1);
      await added;
      expect((await other.look())!.state).toEqual({ count: 51 });
    },
  );
});
