import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { ClientSession } from "@selvedge/client-js";
import type { AgentControllerEvent } from "@selvedge/protocol/session";
import { Random } from "@selvedge/testing/simulator";
import { HANGS_AFTER_MS } from "../kill/store-factory.ts";
import { plain } from "./plain.ts";
import { Server } from "./server.ts";

const CHILD = new URL("./server-child.ts", import.meta.url);
/** The latest moment of a kill after an approval: the answer takes about as long. */
const LATEST_MS = 150;

export interface TwoServersReport {
  rounds: number;
  problems: string[];
}

/**
 * Two servers on one file. The client is on A, its calls are approved through B, and A is killed in every round: before the
 * approval, or at some moment after it. Nothing may be lost, told twice or asked twice.
 */
export async function runTwoServers(options: {
  rounds: number;
  seed: number;
  onRound?: (round: number) => void;
}): Promise<TwoServersReport> {
  const report: TwoServersReport = { rounds: 0, problems: [] };
  const random = new Random(options.seed);
  const folder = await mkdtemp(join(tmpdir(), "two-servers-"));
  const config = { file: join(folder, "store.db"), marks: join(folder, "marks"), port: 0 };
  await writeFile(config.marks, "");
  const b = await Server.start(CHILD, config);
  let a = await Server.start(CHILD, config);
  const { port } = a;
  const [mine, other] = [a.session(), b.session()];
  const told: AgentControllerEvent[] = [];
  try {
    await Promise.all([mine.open(), other.open()]);
    mine.subscribe((event) => void told.push(event));
    const ends = () => told.filter((event) => event.type === "agent_end" && event.reason === "complete");
    for (let round = 1; round <= options.rounds; round++) {
      const toolCallId = `w${round}`;
      const killsBefore = random.chance(0.5);
      await mine.send({ content: `round ${round}` });
      await until("the other server asks", () => pending(other) === toolCallId);
      if (killsBefore) a.kill();
      await other.respondToToolApproval({ toolCallId, decision: "approve" });
      await delay(random.between(0, LATEST_MS));
      if (!killsBefore) a.kill();
      await a.ended;
      a = await Server.start(CHILD, { ...config, port });
      await until("the run has ended", () => ends().length === round && !other.run.isRunning());
      report.rounds++;
      options.onRound?.(round);
    }
    await check({ told, mine, other, marks: config.marks, rounds: options.rounds });
  } catch (error) {
    report.problems.push(String(error));
  } finally {
    mine.close();
    other.close();
    a.kill();
    b.kill();
    await Promise.all([a.ended, b.ended]);
    await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
  return report;
}

/** What the client was told and what is stored, after all rounds. */
async function check(world: {
  told: readonly AgentControllerEvent[];
  mine: ClientSession;
  other: ClientSession;
  marks: string;
  rounds: number;
}): Promise<void> {
  const { told, mine, other } = world;
  const rounds = Array.from({ length: world.rounds }, (_, index) => `${index + 1}`);
  const asked = told.flatMap((event) => (event.type === "tool_approval_required" ? [event.toolCallId] : []));
  assert.deepEqual(
    asked,
    rounds.map((round) => `w${round}`),
    "each call is asked for once",
  );
  const ran = (await readFile(world.marks, "utf8")).trim().split("\n");
  // A process that dies between a tool's start and its end leaves an unknown outcome; nothing runs twice.
  assert.deepEqual(ran, [...new Set(ran)], "no call runs twice");
  assert.ok(
    ran.every((id) => asked.includes(id)),
    "nothing runs that was not asked for",
  );
  const messages = await mine.thread.listActiveMessages({ limit: 1000 });
  const texts = (role: string): string[] =>
    messages
      .filter((message) => message.role === role)
      .map(({ content }) => content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join(""))
      .filter((text) => text !== "");
  assert.deepEqual(
    texts("user"),
    rounds.map((round) => `round ${round}`),
  );
  assert.deepEqual(
    texts("assistant"),
    rounds.map((round) => Array.from({ length: 40 }, (_, index) => `${round}.${index} `).join("")),
  );
  const heard = told.flatMap((event) =>
    event.type === "message_end" && event.message.role === "user" ? [event.message.id] : [],
  );
  assert.equal(new Set(heard).size, heard.length, "each message is told once");
  assert.equal(heard.length, world.rounds, "every message is told");
  assert.deepEqual(plain(mine.displayState.get()), plain(other.displayState.get()));
}

function pending(session: ClientSession): string | undefined {
  return session.displayState.get().pendingApproval?.toolCallId;
}

async function until(what: string, isSo: () => boolean): Promise<void> {
  for (const since = performance.now(); !isSo(); await delay(5))
    if (performance.now() - since > HANGS_AFTER_MS) throw new Error(`Waited in vain until ${what}.`);
}
