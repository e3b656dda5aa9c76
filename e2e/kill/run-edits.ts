import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { LocalFilesystem, Workspace } from "@selvedge/core/workspace";
import { Random } from "@selvedge/testing/simulator";
import { CHANGES, type EditConfig, type EditPoint, type EditRound, THREAD } from "./edit-round.ts";
import { ACTORS } from "./kill-points.ts";
import { libsqlStore } from "./libsql-store.ts";
import { HANGS_AFTER_MS, openStore } from "./store-factory.ts";

const CHILD = fileURLToPath(new URL("./edit-child.ts", import.meta.url));
const POINTS = (["intent", "progress", "act", "step"] as const).flatMap((name) =>
  (["before", "after"] as const).map((when) => ({ name, when })),
);

export interface EditReport {
  kills: number;
  /** Rounds in which a person changed the file between the kill and the restart. */
  foreign: number;
  problems: string[];
}

/** Kills a process in the middle of changes to files, and checks that each was made once, whole, and over nobody else's. */
export async function runEdits(options: {
  kills: number;
  seed: number;
  onRound?: (round: number) => void;
}): Promise<EditReport> {
  const random = new Random(options.seed);
  const folder = mkdtempSync(join(tmpdir(), "selvedge-edits-"));
  const root = join(folder, "root");
  const at = (name: string): string => join(root, name);
  for (const name of ["", "old", "trees"]) mkdirSync(join(root, name));
  const place = await libsqlStore().create(folder);
  const storage = await openStore(place);
  const report: EditReport = { kills: 0, foreign: 0, problems: [] };
  const foreign: string[] = [];
  writeFileSync(at("log.txt"), "END");
  const from = random.between(0, POINTS.length - 1);
  let child = await start({ store: place, root });
  try {
    for (let round = 0; round < options.kills && report.problems.length === 0; round++) {
      prepare(at, round);
      const kill = { ...POINTS[(from + round) % POINTS.length]!, nth: random.between(1, CHANGES) };
      child.send({ round, kill } satisfies EditRound);
      await ended(child);
      report.kills++;
      options.onRound?.(report.kills);
      if (random.chance(0.25)) {
        report.foreign++;
        foreign.push(`person ${round}`);
        writeFileSync(
          at("log.txt"),
          readFileSync(at("log.txt"), "utf8").replace("END", `person ${round}\nEND`),
        );
      }
      child = await start({ store: place, root });
      await idle();
      check(round, kill);
    }
    await checkUndo();
  } catch (error) {
    report.problems.push(String(error));
  } finally {
    child.kill("SIGKILL");
    await storage.close();
    rmSync(folder, { recursive: true, force: true });
  }
  return report;

  async function idle(): Promise<void> {
    for (const since = performance.now(); ; await delay(10)) {
      const [actor] = await storage.select({
        table: ACTORS,
        where: { thread_id: THREAD.threadId },
        limit: 1,
      });
      // A message that was not admitted is not in the store, and its round did nothing.
      if (actor && actor["run_id"] === null && actor["mailbox_count"] === 0) return;
      if (performance.now() - since > HANGS_AFTER_MS) throw new Error("I12 the run did not end");
    }
  }

  function check(round: number, kill: EditPoint): void {
    const wrong = (what: string): void =>
      void report.problems.push(`round ${round}, killed ${kill.when} ${kill.name} ${kill.nth}: ${what}`);
    const lines = readFileSync(at("log.txt"), "utf8").split("\n");
    for (const person of foreign) if (!lines.includes(person)) wrong(`${person} was overwritten`);
    const count = lines.filter((line) => line === `round ${round}`).length;
    // If a person was faster, the edit is refused.
    if (count !== 1 && !(count === 0 && foreign.includes(`person ${round}`))) wrong(`${count} edits`);
    const made = at(`made/${round}.txt`);
    if (!existsSync(made) || readFileSync(made, "utf8") !== `content ${round}\n`.repeat(1000))
      wrong("a file is not whole");
    if (!existsSync(at(`dirs/${round}/deep`))) wrong("no directory");
    if (existsSync(at(`old/${round}.txt`))) wrong("a deleted file is there");
    if (existsSync(at(`trees/${round}`))) wrong("a deleted directory is there");
    const left = readdirSync(root, { recursive: true }).filter((name) => String(name).endsWith(".tmp"));
    if (left.length > 0) wrong(`${left.join()} is left`);
  }

  /** The log is as its changes say: undone from the last to the first, nothing of them is left. */
  async function checkUndo(): Promise<void> {
    const workspace = new Workspace({ filesystem: new LocalFilesystem({ basePath: root }) });
    workspace.useStorage(storage);
    const changes = await workspace.changes({ threadId: THREAD.threadId });
    const ids = changes.map(({ toolCallId }) => toolCallId);
    if (new Set(ids).size !== ids.length) report.problems.push("a change is listed twice");
    for (const { toolCallId, operation } of changes.filter(({ path }) => path.startsWith("made/"))) {
      await workspace.undo({ toolCallId });
      if (operation !== "create") report.problems.push(`${toolCallId} is not a new file`);
    }
    if (existsSync(at("made")) && readdirSync(at("made")).length > 0)
      report.problems.push("an undone file is there");
  }
}

/** What the round deletes. */
function prepare(at: (name: string) => string, round: number): void {
  writeFileSync(at(`old/${round}.txt`), `old ${round}`);
  mkdirSync(at(`trees/${round}/deep`), { recursive: true });
  writeFileSync(at(`trees/${round}/deep/leaf`), "");
}

/** Resolves when the process has started, and continues what the last one left. */
async function start(config: EditConfig): Promise<ChildProcess> {
  const flags = ["--conditions=selvedge-source", "--no-warnings"];
  const child = spawn(process.execPath, [...flags, CHILD, JSON.stringify(config)], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  await once(child, "message");
  return child;
}

async function ended(child: ChildProcess): Promise<void> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), HANGS_AFTER_MS);
  await once(child, "exit", { signal: late.signal });
  clearTimeout(timer);
}
