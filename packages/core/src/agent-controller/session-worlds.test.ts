import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LibSQLStore } from "@selvedge/libsql";
import type { Script } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { MESSAGES } from "../storage/tables.ts";
import { ACTORS, MAILBOX, RUNS } from "../storage/thread-tables.ts";
import { createTool } from "../tool/tool.ts";
import { call, controllerWith, type Made } from "./__fixtures__/controller-with.ts";
import { readUsage } from "./run-profile.ts";
import type { Session } from "./session.ts";

const WORLDS = Number(process.env["SELVEDGE_WORLDS"] ?? 8);
const ACTIONS = 40;

/** Numbers in [0, 1) that are the same for the same seed. */
function dice(seed: number): (below: number) => number {
  let state = seed + 0x6d2b79f5;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** What the model does next depends on the conversation alone, so any process can continue it. */
const script: Script = ({ prompt }) => {
  const since = prompt.length - prompt.findLastIndex(({ role }) => role === "user") - 1;
  const id = `c${prompt.length}-${JSON.stringify(prompt).length}`;
  if (since > 4) return "Enough.";
  switch (JSON.stringify(prompt).length % 7) {
    case 0:
      return call("risky", { path: "good" }, id);
    case 1:
      return call("risky", { path: "bad/x" }, id);
    case 2:
      return call("task_write", { tasks: [{ content: id, status: "pending", activeForm: id }] }, id);
    case 3:
      return call("ask_user", { question: "Well?" }, id);
    case 4:
      return call("submit_plan", { plan: id }, id);
    default:
      return { text: ["Some ", "words."], delayMs: 1 };
  }
};

/** One session in one to three processes on a file, which people and crashes pull about. */
class World {
  readonly #folder = mkdtempSync(join(tmpdir(), "selvedge-"));
  readonly #roll: (below: number) => number;
  readonly processes: { made: Made; session: Session }[] = [];
  readonly problems: string[] = [];
  /** What people said yes to, noted before they say it. */
  readonly #approved = new Set<string>();
  #granted = false;
  #counted = 0;
  #sent = 0;

  constructor(seed: number) {
    this.#roll = dice(seed);
  }

  async open(): Promise<{ made: Made; session: Session }> {
    const risky = createTool({
      id: "risky",
      description: "Risky.",
      idempotent: true,
      execute: async ({ context }, { toolCallId }) => {
        if (String((context as { path?: string }).path).startsWith("bad"))
          this.problems.push(`denied ${toolCallId} ran`);
        if (!this.#granted && !this.#approved.has(toolCallId))
          this.problems.push(`${toolCallId} ran without a yes`);
        return "done";
      },
    });
    const storage = new LibSQLStore({ url: `file:${join(this.#folder, "store.db")}` });
    const lease = { leaseMs: 300, renewMs: 60 };
    const made = controllerWith(script, {
      storage,
      tools: { risky },
      threads: { lease },
      toolCategoryResolver: (name) => (name === "risky" ? "edit" : null),
    });
    const session = await made.controller.createSession({ id: "s", ownerId: "o" });
    const process = { made, session };
    this.processes.push(process);
    return process;
  }

  async live(): Promise<void> {
    const first = await this.open();
    await first.session.permissions.setForTool({ toolName: "risky(bad*)", policy: "deny" });
    for (let more = this.#roll(3); more > 0; more--) await this.open();
    for (let count = 0; count < ACTIONS; count++) {
      await this.#act(this.processes[this.#roll(this.processes.length)]!.session);
      if (this.#roll(3) === 0) await new Promise((resolve) => setTimeout(resolve, this.#roll(8)));
    }
    await this.#settle();
    await this.#check();
  }

  async close(): Promise<void> {
    for (const { made } of this.processes) {
      await made.controller.destroy();
      await made.storage.close();
    }
    rmSync(this.#folder, { recursive: true });
  }

  async #act(session: Session): Promise<void> {
    const kind = this.#roll(14);
    if (kind < 3) return this.#say((content) => session.steer({ content }));
    if (kind < 5) return this.#say((content) => session.followUp({ content }));
    if (kind < 8) return this.#answer(session, this.#roll(4));
    if (kind === 8) return session.abort();
    if (kind === 9) return this.#tolerate(session.mode.switch({ modeId: this.#roll(2) ? "plan" : "build" }));
    if (kind === 10 && this.#roll(3) === 0) {
      await this.#tolerate(session.thread.create());
      return;
    }
    if (kind === 11 && this.#roll(2) === 0 && this.processes.length > 1) return this.#end();
    if (kind === 12) {
      const [thread] = await session.thread.list();
      return this.#tolerate(session.thread.switch({ threadId: thread!.id, abort: this.#roll(2) === 0 }));
    }
    await session.state.update((state) => ({ updates: { count: Number(state["count"] ?? 0) + 1 } }));
    this.#counted++;
  }

  async #say(how: (content: string) => Promise<unknown>): Promise<void> {
    await how(`message ${this.#sent}`);
    this.#sent++;
  }

  async #answer(session: Session, how: number): Promise<void> {
    const { pendingApprovals, pendingSuspensions } = session.displayState.get();
    const [approval] = pendingApprovals.values();
    const [suspension] = pendingSuspensions.values();
    if (approval) {
      const decision = (["approve", "decline", "always_allow_category", "approve"] as const)[how]!;
      if (decision === "approve") this.#approved.add(approval.toolCallId);
      if (decision === "always_allow_category") this.#granted = true;
      return this.#tolerate(session.respondToToolApproval({ decision, toolCallId: approval.toolCallId }));
    }
    if (!suspension) return;
    const { toolCallId, toolName } = suspension;
    const resumeData = toolName === "ask_user" ? "Yes" : { action: how % 2 ? "approved" : "rejected" };
    await this.#tolerate(session.respondToToolSuspension({ toolCallId, resumeData }));
  }

  /** What others did meanwhile may be in the way. */
  async #tolerate(work: Promise<unknown>): Promise<void> {
    await work.catch((error: unknown) => {
      const { code } = error as { code?: string };
      if (!["already-decided", "not-found", "conflict"].includes(code ?? "")) throw error;
    });
  }

  /** A process ends, and sometimes another begins. */
  async #end(): Promise<void> {
    const [ended] = this.processes.splice(this.#roll(this.processes.length), 1);
    await ended!.made.controller.destroy();
    await ended!.made.storage.close();
    if (this.#roll(2) === 0) await this.open();
  }

  /** Answers what is asked on every thread, until nothing goes on any more. */
  async #settle(): Promise<void> {
    const { session, made } = this.processes[0]!;
    for (const { id } of await session.thread.list()) {
      await session.thread.switch({ threadId: id, abort: false });
      for (let turn = 0; ; turn++) {
        if (turn > 2000) {
          const [actor] = await made.storage.select({ table: ACTORS, where: { thread_id: id }, limit: 1 });
          const calls = await made.storage.select({ table: MAILBOX, where: { thread_id: id } });
          throw new Error(
            `Thread ${id} does not come to rest: ${JSON.stringify([actor, calls, session.followUps.count(), session.run.isRunning(), [...session.displayState.get().pendingSuspensions.keys()]])}`,
          );
        }
        await this.#answer(session, 0);
        const [actor] = await made.storage.select({ table: ACTORS, where: { thread_id: id }, limit: 1 });
        const isBusy = actor !== undefined && (actor.run_id !== null || (actor.mailbox_count ?? 0) > 0);
        if (!isBusy && session.followUps.isEmpty() && !session.run.isRunning()) break;
        await session.core.thread.countQueued();
        await new Promise((resolve) => setTimeout(resolve, 3));
      }
    }
  }

  async #check(): Promise<void> {
    const { session, made } = this.processes[0]!;
    const { storage } = made;
    expect(this.problems).toEqual([]);
    expect((await session.core.refresh()).state["count"] ?? 0).toBe(this.#counted);
    // No message is lost, whatever was switched or aborted.
    const people = await storage.select({ table: MESSAGES, where: { role: "signal", type: "user" } });
    expect(people).toHaveLength(this.#sent);
    for (const { id } of await session.thread.list()) {
      const runs = await storage.select({ table: RUNS, where: { thread_id: id } });
      const tokens = runs.map(({ usage }) => (Object(usage) as { totalTokens?: number }).totalTokens ?? 0);
      const { usage } = await readUsage(storage, id);
      expect(usage.totalTokens).toBe(tokens.reduce((sum, one) => sum + one, 0));
    }
    // The session in a fresh process is the session.
    const { session: fresh } = await this.open();
    expect(fresh.displayState.get()).toEqual(session.displayState.get());
    expect([fresh.mode.get(), fresh.thread.getId(), fresh.getGrants()]).toEqual([
      session.mode.get(),
      session.thread.getId(),
      session.getGrants(),
    ]);
  }
}

describe("a session that is pulled about", () => {
  const first = Number(process.env["SELVEDGE_WORLD"] ?? 1);
  it.each(Array.from({ length: WORLDS }, (_, index) => first + index))(
    "keeps its promises in world %i",
    { timeout: 120_000 },
    async (seed) => {
      const world = new World(seed);
      try {
        await world.live();
      } finally {
        await world.close();
      }
    },
  );
});
