import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ClientSession } from "@selvedge/client-js";
import type { AgentControllerEvent } from "@selvedge/protocol/session";
import { afterEach, beforeEach, expect, it } from "vitest";
import { plain } from "./plain.ts";
import { Server } from "./server.ts";

const CHILD = new URL("./live-view-child.ts", import.meta.url);

let folder: string;
let servers: Server[];
let sessions: ClientSession[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "selvedge-live-view-"));
  servers = [];
  sessions = [];
});
afterEach(async () => {
  for (const session of sessions) session.close();
  for (const server of servers) server.kill();
  await Promise.all(servers.map(({ ended }) => ended));
  rmSync(folder, { recursive: true, maxRetries: 5, retryDelay: 100 });
});

async function start(config: object): Promise<Server> {
  const server = await Server.start(CHILD, { file: join(folder, "store.db"), ...config });
  servers.push(server);
  return server;
}

async function open(server: Server): Promise<ClientSession> {
  const session = server.session();
  sessions.push(session);
  await session.open();
  return session;
}

const shown = (session: ClientSession): unknown => plain(session.displayState.get());

it(
  "shows a client what a new reader sees, after the owner was killed while a subagent's tool ran",
  { timeout: 120_000 },
  async () => {
    const gate = join(folder, "gate");
    const other = await start({ gate });
    const owner = await start({});
    const live = await open(other);
    const told: AgentControllerEvent[] = [];
    live.subscribe((event) => void told.push(event));
    const mine = await open(owner);
    // The answer may be lost with the server.
    void mine.send({ content: "Find something." }).catch(() => {});
    await owner.ended;
    mine.close();
    // The other server has taken over when the subagent's tool runs again.
    await expect
      .poll(() => [...live.displayState.get().activeSubagents.values()], { timeout: 60_000 })
      .toMatchObject([{ status: "running", task: "Dig.", textDelta: "I look.I dig here." }]);
    const { currentMessage, activeTools } = live.displayState.get();
    expect(currentMessage!.content).toMatchObject([
      { type: "text", text: "I look." },
      { type: "tool_call", name: "look" },
      { type: "tool_result", name: "look" },
      { type: "text", text: "I ask a helper." },
      { type: "tool_call", name: "subagent" },
    ]);
    expect([...activeTools.values()]).toMatchObject([
      { name: "look", status: "completed" },
      { name: "subagent", status: "running" },
    ]);
    const fresh = await open(other);
    await expect.poll(() => shown(live)).toEqual(shown(fresh));
    writeFileSync(gate, "");
    for (const session of [live, fresh])
      await expect.poll(() => session.run.isRunning(), { timeout: 60_000 }).toBe(false);
    await expect.poll(() => shown(live)).toEqual(shown(fresh));
    expect(shown(await open(other))).toMatchObject({ isRunning: false });
    // Every message that was told is the stored one.
    const stored = await live.thread.listActiveMessages({ limit: 100 });
    const ended = new Map(
      told.flatMap((event) => (event.type === "message_end" ? [[event.message.id, event.message]] : [])),
    );
    expect(plain([...ended.values()].map(({ role, content }) => ({ role, content })))).toEqual(
      plain(stored.map(({ role, content }) => ({ role, content }))),
    );
    expect(told.filter(({ type }) => type === "subagent_end")).toMatchObject([
      { result: "It was a shuttle.", isError: false },
    ]);
  },
);
