import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { promisify } from "node:util";
import { peerImport } from "../lib/env.ts";
import { now, summarise } from "../lib/stats.ts";
import { table } from "../lib/table.ts";
import type { Case, CaseResult } from "./types.ts";

const run = promisify(execFile);
const FILES_PER_FOLDER = 100;
const WORDS =
  "warp weft loom shuttle heddle treadle bobbin reed selvedge thread getUserName load_config parse error value".split(
    " ",
  );
const LITERAL = "needle";
const PATTERN = "ne+dle in \\w+ hay(stack)?";

/** A tree of text files, the same each time, with ignore rules and a few needles. */
function plantTree(root: string, folders: number): void {
  let seed = 42;
  const random = (below: number): number => {
    seed = (seed * 1103515245 + 12345) & 0x7fffffff;
    return seed % below;
  };
  for (let folder = 0; folder < folders; folder++) {
    const path = join(root, `pkg${folder % 10}`, `mod${Math.floor(folder / 10) % 10}`, `part${folder}`);
    mkdirSync(path, { recursive: true });
    for (let file = 0; file < FILES_PER_FOLDER; file++) {
      const lines = Array.from({ length: 10 + random(40) }, () =>
        Array.from(
          { length: 6 },
          () => WORDS[random(WORDS.length)]! + (random(10) ? "" : random(10_000)),
        ).join(" "),
      );
      if (file === 0 && folder % 10 === 0) lines.push("needle in the haystack");
      const extension = ["ts", "md", "js", "json", "log"][file % 5]!;
      writeFileSync(join(path, `file${file}.${extension}`), `${lines.join("\n")}\n`);
    }
  }
  writeFileSync(
    join(root, ".gitignore"),
    "node_modules/\n*.log\n/build\ndist\n*.tmp\ncoverage/**\n!keep.log\n",
  );
  execFileSync("git", ["init", "-q", root]);
}

interface Cost {
  wall: number;
  cpu: number;
}

/** The cost of work in this process, its threads included. */
async function costOf(work: () => Promise<unknown>): Promise<Cost> {
  const [start, before] = [now(), process.cpuUsage()];
  await work();
  const { user, system } = process.cpuUsage(before);
  return { wall: now() - start, cpu: (user + system) / 1000 };
}

/**
 * The most that work takes of the event loop's thread in one turn: CPU time, so that other programs on the machine do not
 * count. It spins, so time nothing beside it.
 */
async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  let [longest, isOn] = [0, true];
  let before = process.threadCpuUsage();
  const look = (): void => {
    const { user, system } = process.threadCpuUsage(before);
    longest = Math.max(longest, (user + system) / 1000);
    before = process.threadCpuUsage();
    if (isOn) setImmediate(look);
  };
  look();
  await work();
  isOn = false;
  look();
  return longest;
}

/** The cost of a program. The shell says how much CPU time it took. */
async function costOfProgram(cwd: string, command: string[]): Promise<Cost> {
  const start = now();
  const { stdout } = await run("sh", ["-c", '"$@" | cat > /dev/null; times', "sh", ...command], { cwd });
  const times = [...stdout.split("\n")[1]!.matchAll(/(\d+)m([\d.]+)s/g)];
  const cpu = times.reduce(
    (sum, [, minutes, seconds]) => sum + (Number(minutes) * 60 + Number(seconds)) * 1000,
    0,
  );
  return { wall: now() - start, cpu };
}

/** Alternates ours and a program, so that both meet the same machine. A ratio is the median of neighbours. */
async function beside(
  out: CaseResult,
  name: string,
  rounds: number,
  ours: () => Promise<unknown>,
  peer: () => Promise<Cost>,
): Promise<void> {
  await ours();
  await peer();
  const all: { ours: Cost; peer: Cost }[] = [];
  let blocked = 0;
  for (let round = 0; round < rounds; round++) {
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const cost = await costOf(ours);
    delay.disable();
    blocked = Math.max(blocked, delay.max / 1e6);
    all.push({ ours: cost, peer: await peer() });
  }
  for (const kind of ["wall", "cpu"] as const) {
    out[`${name}.${kind}`] = summarise(all.map((one) => one.ours[kind])).median;
    out[`${name}.peer.${kind}`] = summarise(all.map((one) => one.peer[kind])).median;
    out[`${name}.ratio.${kind}`] = summarise(all.map((one) => one.ours[kind] / one.peer[kind])).median;
  }
  out[`${name}.blocked`] = blocked;
  out[`${name}.turn`] = await longestTurn(ours);
}

/** Listing and searching the files of a workspace, beside ripgrep and git. */
export default {
  id: "l",
  title: "workspace: 100,000 files in 1,000 folders, beside ripgrep and git",
  adapters: ["ours"],
  primary: "list.wall",
  async run({ smoke, scratch }) {
    const root = join(scratch, "tree");
    plantTree(root, smoke ? 10 : 1000);
    const rounds = smoke ? 1 : 5;
    const { LocalFilesystem, Workspace } = await peerImport("ours", "@selvedge/core/workspace");
    const filesystem = new LocalFilesystem({ basePath: root });
    const tools = await new Workspace({ filesystem }).tools();
    const call = (tool: string, context: object) => () =>
      tools[`mastra_workspace_${tool}`].execute({ context }, {});
    const program =
      (...command: string[]) =>
      () =>
        costOfProgram(root, command);
    const out: CaseResult = {};
    const list = call("list_files", { maxDepth: 64 });
    const glob = "**/*.md";
    await beside(out, "list", rounds, list, program("rg", "--files"));
    await beside(
      out,
      "list beside git",
      rounds,
      list,
      program("git", "ls-files", "-co", "--exclude-standard"),
    );
    await beside(
      out,
      "glob",
      rounds,
      call("list_files", { maxDepth: 64, pattern: glob }),
      program("rg", "--files", "-g", glob),
    );
    await beside(
      out,
      "literal",
      rounds,
      call("grep", { pattern: LITERAL }),
      program("rg", "-n", LITERAL, "."),
    );
    await beside(out, "regex", rounds, call("grep", { pattern: PATTERN }), program("rg", "-n", PATTERN, "."));

    const withIndex = () =>
      new Workspace({ filesystem, bm25: true, autoIndexPaths: [smoke ? "." : "pkg{0,1,2}/**"] });
    const indexed = withIndex();
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const built = await costOf(() => indexed.init());
    delay.disable();
    const queries: Cost[] = [];
    for (let i = 0; i < 21; i++) {
      const query = i % 2 ? "heddle error" : "getUserName treadle needle";
      queries.push(await costOf(() => indexed.search(query)));
    }
    for (const kind of ["wall", "cpu"] as const) {
      out[`index.${kind}`] = built[kind];
      out[`query.${kind}`] = summarise(queries.map((one) => one[kind])).median;
    }
    out["index.blocked"] = delay.max / 1e6;
    out["index.turn"] = await longestTurn(() => withIndex().init());
    return out;
  },
  report({ ours = {} }) {
    const names = [...new Set(Object.keys(ours).map((key) => key.split(".")[0]!))];
    return table(
      [
        "ms",
        "wall",
        "rg or git",
        "ratio",
        "CPU",
        "rg or git",
        "ratio",
        "longest delay",
        "longest turn (CPU)",
      ],
      names.map((name) => [
        name,
        ...["wall", "cpu"].flatMap((kind) => [
          ours[`${name}.${kind}`],
          ours[`${name}.peer.${kind}`],
          ours[`${name}.ratio.${kind}`],
        ]),
        ours[`${name}.blocked`],
        ours[`${name}.turn`],
      ]),
    );
  },
} satisfies Case;
