import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { MastraClient } from "@selvedge/client-js";
import type { AgentControllerEvent } from "@selvedge/protocol/session";
import { afterEach, describe, expect, it } from "vitest";
import type { ServerConfig } from "./server-child.ts";

const CHILD = fileURLToPath(new URL("./server-child.ts", import.meta.url));
const ROUNDS = 4;

const cleanup: (() => unknown)[] = [];
afterEach(async () => {
  for (const each of cleanup.splice(0).toReversed()) await each();
});

async function start(
  config: ServerConfig,
): Promise<{ kill(): void; exited: Promise<unknown>; port: number }> {
  const child = spawn(
    process.execPath,
    ["--conditions=selvedge-source", "--no-warnings", CHILD, JSON.stringify(config)],
    { stdio: ["ignore", "inherit", "inherit", "ipc"] },
  );
  cleanup.push(() => child.kill("SIGKILL"));
  const exited = once(child, "exit");
  const [{ port }] = (await once(child, "message")) as [{ port: number }];
  return { kill: () => void child.kill("SIGKILL"), exited, port };
}

describe("a session on two servers", () => {
  it("loses nothing, repeats nothing and asks once when the server of its client is killed", async () => {
    const folder = await mkdtemp(join(tmpdir(), "two-servers-"));
    cleanup.push(() => rm(folder, { recursive: true, force: true }));
    const config = { file: join(folder, "store.db"), marks: join(folder, "marks"), port: 0 };
    await writeFile(config.marks, "");
    const b = await start(config);
    let a = await start(config);
    const { port } = a;
    const sessionOn = (at: number) => {
      const client = new MastraClient({
        baseUrl: `http://127.0.0.1:${at}`,
        backoffMs: 20,
        maxBackoffMs: 50,
        retries: 1000,
      });
      const session = client.getAgentController("loom").session("s1", { reconnect: { delayMs: 20 } });
      cleanup.push(() => session.close());
      return session;
    };
    const [mine, other] = [sessionOn(port), sessionOn(b.port)];
    const told: AgentControllerEvent[] = [];
    await Promise.all([mine.open(), other.open()]);
    mine.subscribe((event) => void told.push(event));
    const ends = () => told.filter((event) => event.type === "agent_end" && event.reason === "complete");

    for (let round = 1; round <= ROUNDS; round++) {
      const toolCallId = `w${round}`;
      const killsBefore = round % 2 === 0;
      await mine.send({ content: `round ${round}` });
      await expect.poll(() => other.displayState.get().pendingApproval?.toolCallId, WAIT).toBe(toolCallId);
      if (killsBefore) a.kill();
      await other.respondToToolApproval({ toolCallId, decision: "approve" });
      await delay(round * 7);
      if (!killsBefore) a.kill();
      await a.exited;
      a = await start({ ...config, port });
      await expect.poll(() => ends().length, WAIT).toBe(round);
      await expect.poll(() => other.run.isRunning(), WAIT).toBe(false);
    }

    const asked = told.flatMap((event) =>
      event.type === "tool_approval_required" ? [event.toolCallId] : [],
    );
    const rounds = Array.from({ length: ROUNDS }, (_, index) => `${index + 1}`);
    expect(asked).toEqual(rounds.map((round) => `w${round}`));
    const ran = (await readFile(config.marks, "utf8")).trim().split("\n");
    // A process that dies between a tool's start and its end leaves an unknown outcome; nothing runs twice.
    expect(ran).toEqual([...new Set(ran)]);
    expect(asked).toEqual(expect.arrayContaining(ran));
    const messages = await mine.thread.listActiveMessages();
    const texts = (role: string) =>
      messages
        .filter((message) => message.role === role)
        .map(({ content }) => content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join(""))
        .filter((text) => text !== "");
    expect(texts("user")).toEqual(rounds.map((round) => `round ${round}`));
    expect(texts("assistant")).toEqual(
      rounds.map((round) => Array.from({ length: 40 }, (_, index) => `${round}.${index} `).join("")),
    );
    const heard = told.flatMap((event) =>
      event.type === "message_end" && event.message.role === "user" ? [event.message.id] : [],
    );
    expect(new Set(heard).size).toBe(heard.length);
    expect(heard).toHaveLength(ROUNDS);
    expect(plain(mine.displayState.get())).toEqual(plain(other.displayState.get()));
  });
});

const WAIT = { timeout: 60_000 };

function plain(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_, item: unknown) => (item instanceof Map ? [...item] : item)),
  ) as unknown;
}
