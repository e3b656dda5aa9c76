import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Random } from "@selvedge/testing/simulator";
import { Child, type Seen } from "./child-process.ts";
import type { KillAt } from "./kill-points.ts";

interface Scenario {
  /** What a person does when something waits. */
  answer: "always" | "approve plan" | "reply";
  /** The words with which it ends. */
  end: string;
  /** The calls for which a tool ran, each once. */
  marks: string[];
  /** What each subagent was told, once. */
  children: string[][];
  points: readonly KillAt["point"][];
}

const EVERYWHERE = ["session", "thread", "waiting", "decision", "usage"] as const;
const IN_SUBAGENT = [...EVERYWHERE, "delegation", "model of a subagent"] as const;

/** What people do in a session, and where a process can be killed that does it. */
export const SCENARIOS = {
  write: { answer: "always", end: "Written twice.", marks: ["w1", "w2"], children: [], points: EVERYWHERE },
  plan: {
    answer: "approve plan",
    end: "Planned in build.",
    marks: [],
    children: [],
    points: [...EVERYWHERE, "task"],
  },
  delegate: { answer: "always", end: "Delegated.", marks: ["h1"], children: [["Help"]], points: IN_SUBAGENT },
  consult: {
    answer: "reply",
    end: "The consultant is back.",
    marks: [],
    children: [["Task: consult"]],
    points: IN_SUBAGENT,
  },
  fork: {
    answer: "always",
    end: "The fork is back.",
    marks: ["f2"],
    children: [["please fork", "Task: fork"]],
    points: [...IN_SUBAGENT, "clone", "open step"],
  },
  ask: { answer: "reply", end: "Asked.", marks: [], children: [], points: EVERYWHERE },
} as const satisfies Record<string, Scenario>;

export type ScenarioName = keyof typeof SCENARIOS;

const textOf = ({ messages }: Seen) =>
  messages.flatMap(({ content }) => content.flatMap((part) => part.text ?? [])).join(" ");

/**
 * One process is killed in the middle of it, and another brings it to its end: one that starts then, or a `witness` that
 * had the session open all the time. Returns what is wrong then.
 */
export async function killSession(
  name: ScenarioName,
  kill: KillAt,
  options: { witness?: boolean } = {},
): Promise<{ killed: boolean; problems: string[] }> {
  const scenario: Scenario = SCENARIOS[name];
  const folder = mkdtempSync(join(tmpdir(), "selvedge-session-"));
  const marks = join(folder, "marks");
  writeFileSync(marks, "");
  const config = { file: join(folder, "store.db"), marks };
  const isOver = (seen: Seen) => seen.runId === null && textOf(seen).includes(scenario.end);
  let second = options.witness ? new Child(config) : undefined;
  await second?.ready;
  const first = new Child({ ...config, kill });
  let fresh: Child | undefined;
  try {
    const killed = !(await bringToEnd(first, name, isOver));
    await first.kill();
    second ??= new Child(config);
    await bringToEnd(second, name, isOver);
    const seen = (await second.look())!;
    fresh = new Child(config);
    await fresh.ready;
    const expected = (await fresh.look())!;
    const ran = readFileSync(marks, "utf8").split("\n").filter(Boolean);
    const problems = [
      ...differ("tools ran for", ran, scenario.marks),
      ...differ("subagents were told", seen.children, scenario.children),
      ...differ("people said", seen.messages.filter(({ role }) => role === "user").length, 1),
      ...differ("what waits", seen.waiting, null),
      ...differ("the session shows", seen.display, expected.display),
      ...second.errors.map((error) => `error: ${error}`),
    ];
    return { killed, problems };
  } finally {
    await first.kill();
    await second?.kill();
    await fresh?.kill();
    rmSync(folder, { recursive: true });
  }
}

/** Says what is to be said, where nobody has, and answers until it is over. False when the process died before. */
async function bringToEnd(
  child: Child,
  name: ScenarioName,
  isOver: (seen: Seen) => boolean,
): Promise<boolean> {
  if (!(await child.ready)) return false;
  const begun = await child.look();
  if (begun && !textOf(begun).includes(`please ${name}`) && begun.runId === null) void child.do(name);
  for (;;) {
    const seen = await child.until((now) => now.waiting !== null || isOver(now));
    if (!seen) return false;
    if (isOver(seen)) return true;
    await child.do(SCENARIOS[name].answer);
  }
}

function differ(what: string, found: unknown, expected: unknown): string[] {
  const [a, b] = [JSON.stringify(found), JSON.stringify(expected)];
  return a === b ? [] : [`${what} ${a}, expected ${b}`];
}

/** Kills at places that the seed draws. */
export async function runSessionKills(options: {
  kills: number;
  seed: number;
  onRound?: (round: number) => void;
}): Promise<{ kills: number; atPoint: number; problems: string[] }> {
  const random = new Random(options.seed);
  const report = { kills: 0, atPoint: 0, problems: [] as string[] };
  while (report.kills < options.kills) {
    const name = random.pick(Object.keys(SCENARIOS) as ScenarioName[]);
    const kill: KillAt = {
      point: random.pick<KillAt["point"]>(SCENARIOS[name].points),
      when: random.pick(["before", "after"]),
      nth: random.between(1, 3),
    };
    const witness = random.chance(0.5);
    const { killed, problems } = await killSession(name, kill, { witness });
    report.kills++;
    if (killed) report.atPoint++;
    const where = `${name}, ${JSON.stringify({ ...kill, witness })}`;
    report.problems.push(...problems.map((problem) => `${where}: ${problem}`));
    options.onRound?.(report.kills);
  }
  return report;
}
