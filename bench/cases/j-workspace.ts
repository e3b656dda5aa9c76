import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { promisify } from "node:util";
import { peerImport } from "../lib/env.ts";
import { now, quantile, summarise } from "../lib/stats.ts";
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

/** Alternates ours and a program, so that both meet the same machine. Wall time in ms; the ratio is that of neighbours. */
async function beside(
  out: CaseResult,
  name: string,
  rounds: number,
  ours: () => Promise<unknown>,
  peer: () => Promise<unknown>,
): Promise<void> {
  await ours();
  await peer();
  const times = { ours: [] as number[], peer: [] as number[], ratio: [] as number[] };
  let blocked = 0;
  for (let round = 0; round < rounds; round++) {
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const [start, middle] = [now(), (await ours(), now())];
    delay.disable();
    blocked = Math.max(blocked, delay.max / 1e6);
    await peer();
    times.ours.push(middle - start);
    times.peer.push(now() - middle);
    times.ratio.push((middle - start) / times.peer.at(-1)!);
  }
  out[name] = summarise(times.ours).median;
  out[`${name}.peer`] = summarise(times.peer).median;
  out[`${name}.ratio`] = quantile(
    times.ratio.toSorted((a, b) => a - b),
    0.5,
  );
  out[`${name}.blocked`] = blocked;
}

/** Listing and searching the files of a workspace, beside ripgrep and git. */
export default {
  id: "j",
  title: "workspace: 100,000 files in 1,000 folders, beside ripgrep and git",
  adapters: ["ours"],
  primary: "list",
  async run({ smoke, scratch }) {
    const root = join(scratch, "tree");
    plantTree(root, smoke ? 10 : 1000);
    const rounds = smoke ? 1 : 7;
    const { LocalFilesystem, Workspace } = await peerImport("ours", "@selvedge/core/workspace");
    const filesystem = new LocalFilesystem({ basePath: root });
    const tools = await new Workspace({ filesystem }).tools();
    const call = (tool: string, context: object) => () =>
      tools[`mastra_workspace_${tool}`].execute({ context }, {});
    const program =
      (name: string, ...args: string[]) =>
      () =>
        run(name, args, { cwd: root, maxBuffer: 1 << 28 });
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
    await beside(out, "literal", rounds, call("grep", { pattern: LITERAL }), program("rg", "-n", LITERAL));
    await beside(out, "regex", rounds, call("grep", { pattern: PATTERN }), program("rg", "-n", PATTERN));

    const indexed = new Workspace({
      filesystem,
      bm25: true,
      autoIndexPaths: [smoke ? "." : "pkg{0,1,2}/**"],
    });
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const start = now();
    await indexed.init();
    out["index"] = now() - start;
    delay.disable();
    out["index.blocked"] = delay.max / 1e6;
    const queries: number[] = [];
    for (let i = 0; i < 21; i++) {
      const before = now();
      await indexed.search(i % 2 ? "heddle error" : "getUserName treadle needle");
      queries.push(now() - before);
    }
    out["query"] = summarise(queries).median;
    return out;
  },
  report({ ours = {} }) {
    const names = Object.keys(ours).filter((key) => !key.includes("."));
    return table(
      ["ms", "ours", "ripgrep or git", "ratio", "longest block"],
      names.map((name) => [
        name,
        ours[name],
        ours[`${name}.peer`],
        ours[`${name}.ratio`],
        ours[`${name}.blocked`],
      ]),
    );
  },
} satisfies Case;
