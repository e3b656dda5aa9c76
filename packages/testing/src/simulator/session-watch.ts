import type { Storage, Row, Write } from "@selvedge/core/storage";
import { AFTER_PLAN } from "./sim-controller.ts";
import type { SimProcess } from "./sim-process.ts";
import type { SimSessions } from "./sim-sessions.ts";
import { CALLS, RUNS, SESSIONS } from "./tables.ts";

interface Decision {
  approved: boolean;
  resumeData?: { action?: string };
}

/** A plan that a commit approves, as the store knew it before. */
interface ApprovedPlan {
  toolCallId: string;
  runId: string;
  sessionId: string | undefined;
  modeBefore: string | undefined;
}

/** Watches what commits do to sessions. */
export class SessionWatch {
  readonly #process: SimProcess;
  readonly #shared: Storage;
  readonly #sessions: SimSessions;

  constructor(process: SimProcess, shared: Storage, sessions: SimSessions) {
    this.#process = process;
    this.#shared = shared;
    this.#sessions = sessions;
  }

  /** Before a commit: the plan that it approves, if it does. */
  async look(asked: readonly Write[]): Promise<ApprovedPlan | undefined> {
    for (const write of asked) {
      const decision = decisionIn(write);
      if (decision?.resumeData?.action !== "approved" || write.op !== "update") continue;
      const { run_id: runId, tool_call_id: toolCallId } = write.where as Record<string, string>;
      const session = asked.find(({ op, table }) => op === "update" && table === SESSIONS);
      const sessionId = session?.op === "update" ? (session.where["id"] as string) : undefined;
      // Asked for at once: what is asked for later is answered after the commit.
      const [[call], row] = await Promise.all([
        this.#shared.select({ table: CALLS, where: { run_id: runId!, tool_call_id: toolCallId! } }),
        sessionId === undefined ? undefined : this.#row(sessionId),
      ]);
      if (call?.["tool_name"] !== "submit_plan" || (call["thread_id"] as string).startsWith("sub-"))
        return undefined;
      const modeBefore = row?.["mode_id"] as string | undefined;
      return { toolCallId: toolCallId!, runId: runId!, sessionId, modeBefore };
    }
    return undefined;
  }

  /** After it: what was written, and whether plan, mode and run agree. */
  async check(asked: readonly Write[], plan: ApprovedPlan | undefined): Promise<void> {
    for (const write of asked) {
      const decision = decisionIn(write);
      if (decision && write.op === "update" && write.where["state"] === "waiting")
        this.#sessions.decided(write.where["tool_call_id"] as string, decision.approved);
      this.#countTokens(write);
      if (write.table !== SESSIONS || write.op === "require") continue;
      // One that counts only for a new session, and may have done nothing.
      if (write.op === "delete" && "version" in write.where) continue;
      const id = (write.op === "insert" ? write.row["id"] : write.where["id"]) as string;
      const row = write.op === "insert" ? write.row : write.op === "update" ? write.set : undefined;
      this.#sessions.wrote(id, row);
    }
    if (plan) await this.#checkPlan(plan);
  }

  async #checkPlan(plan: ApprovedPlan): Promise<void> {
    const { world } = this.#process;
    const row = plan.sessionId === undefined ? undefined : await this.#row(plan.sessionId);
    const [run] = await this.#shared.select({ table: RUNS, where: { id: plan.runId } });
    const { profile } = Object(run?.["options"]) as { profile?: { modeId?: string } };
    const expected = AFTER_PLAN[plan.modeBefore ?? ""];
    world.reached.add("a plan was approved");
    if (row?.["mode_id"] !== expected || profile?.modeId !== expected)
      world.violate(
        "S2",
        `${plan.toolCallId} was approved in mode ${plan.modeBefore}; now the session is in ${JSON.stringify(row?.["mode_id"])} and its run in ${profile?.modeId}`,
      );
  }

  #countTokens(write: Write): void {
    if (write.table !== RUNS) return;
    const { runs } = this.#sessions;
    if (write.op === "insert")
      runs.set(write.row["id"] as string, { threadId: write.row["thread_id"] as string, tokens: 0 });
    const usage =
      write.op === "update" ? (write.set?.["usage"] as { totalTokens?: number } | undefined) : undefined;
    const run = usage && write.op === "update" && runs.get(write.where["id"] as string);
    if (run) run.tokens = usage.totalTokens ?? 0;
  }

  async #row(id: string): Promise<Row | undefined> {
    return (await this.#shared.select({ table: SESSIONS, where: { id } }))[0];
  }
}

function decisionIn(write: Write): Decision | undefined {
  if (write.op !== "update" || write.table !== CALLS) return undefined;
  return (write.set?.["decision"] ?? undefined) as Decision | undefined;
}
