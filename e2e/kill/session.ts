import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Row, Storage } from "@selvedge/core/storage";
import type { StoredMessage } from "@selvedge/protocol";
import { Random } from "@selvedge/testing/simulator";
import type { ChildHandle } from "./child-handle.ts";
import { ACTORS, CALLS, EVENTS, MAILBOX } from "./kill-points.ts";
import { type ChildConfig, errandOf, messageText } from "./protocol.ts";
import { HANGS_AFTER_MS, openStore, type StoreFactory, type StorePlace } from "./store-factory.ts";

interface Sent {
  token: string;
  threadId: string;
  api: "message" | "queue";
  key: string | undefined;
  acknowledged: boolean;
  order: number;
}

export interface SessionOptions {
  factory: StoreFactory;
  /** Decides what is sent when. What the processes make of it depends on their timing. */
  seed: number;
  threads: number;
}

/** One store, what was sent to the processes on it, and what must be true of it. */
export class Session {
  readonly folder: string;
  readonly place: StorePlace;
  readonly store: Storage;
  readonly random: Random;
  readonly effects: string;
  readonly sent: Sent[] = [];
  readonly decisions: Map<string, boolean[]> = new Map();
  readonly threads: string[];

  private constructor(folder: string, place: StorePlace, store: Storage, options: SessionOptions) {
    this.folder = folder;
    this.place = place;
    this.store = store;
    this.random = new Random(options.seed);
    this.effects = join(folder, "effects.txt");
    this.threads = Array.from({ length: options.threads }, (_, index) => `thread-${index + 1}`);
  }

  static async open(options: SessionOptions): Promise<Session> {
    const folder = mkdtempSync(join(tmpdir(), "selvedge-kill-"));
    const place = await options.factory.create(folder);
    return new Session(folder, place, await openStore(place), options);
  }

  /** What every process of the session is started with. */
  get config(): Pick<ChildConfig, "store" | "effects"> {
    return { store: this.place, effects: this.effects };
  }

  /** Puts threads into the store that nobody uses: they must not make a restart slower. */
  async crowd(threads: number): Promise<void> {
    const memory = (await this.store.getStore("memory"))!;
    const at = new Date(0);
    for (let from = 0; from < threads; from += 100) {
      await this.store.commit(
        Array.from({ length: Math.min(100, threads - from) }, (_, index) => ({
          op: "insert" as const,
          table: ACTORS,
          row: {
            thread_id: `idle-${from + index}`,
            resource_id: "user",
            fence: 1,
            run_state: "idle",
            next_seq: 1,
            mailbox_count: 0,
            mailbox_bytes: 0,
          },
        })),
      );
    }
    for (let index = 0; index < threads; index++) {
      const id = `idle-${index}`;
      await memory.saveThread({ thread: { id, resourceId: "user", createdAt: at, updatedAt: at } });
    }
  }

  /** Sends a message; the answer counts only if it comes. */
  async send(
    child: ChildHandle,
    threadId: string,
    tools: readonly string[],
    api: "message" | "queue",
    withKey: boolean,
  ): Promise<Sent> {
    const token = `m${this.sent.length + 1}`;
    const sent: Sent = {
      token,
      threadId,
      api,
      key: withKey ? `key-${token}` : undefined,
      acknowledged: false,
      order: this.sent.length,
    };
    this.sent.push(sent);
    await this.#post(child, sent, tools);
    return sent;
  }

  /** A client that got no answer tries again with the key it used. */
  async resend(child: ChildHandle): Promise<void> {
    for (const sent of this.sent)
      if (!sent.acknowledged && sent.key !== undefined) await this.#post(child, sent, []);
  }

  async #post(child: ChildHandle, sent: Sent, tools: readonly string[]): Promise<void> {
    const { threadId, api, key, token } = sent;
    const answer = await child.call({
      do: "send",
      api,
      threadId,
      text: messageText(token, tools),
      ...(key !== undefined && { key }),
    });
    if (answer?.ok) sent.acknowledged = true;
  }

  /** Answers every call that waits. */
  async decideAll(children: readonly ChildHandle[], approve: () => boolean): Promise<void> {
    const waiting = await this.store.select({ table: CALLS, where: { state: "waiting" } });
    await Promise.all(
      waiting.flatMap((row) =>
        children.map(async (child) => {
          const toolCallId = row["tool_call_id"] as string;
          const approved = approve();
          const answer = await child.call({
            do: "decide",
            threadId: row["thread_id"] as string,
            toolCallId,
            approved,
          });
          if (answer?.ok)
            this.decisions.set(toolCallId, [...(this.decisions.get(toolCallId) ?? []), approved]);
        }),
      ),
    );
  }

  /** Who runs what, and what waits. */
  async state(): Promise<{
    running: string[];
    fences: Map<string, number>;
    letters: number;
    waiting: number;
  }> {
    const [actors, letters, waiting] = await Promise.all([
      this.store.select({ table: ACTORS }),
      this.store.count({ table: MAILBOX }),
      // A call that was decided waits, too, until a process continues its run.
      this.store.count({ table: CALLS }),
    ]);
    return {
      running: actors
        .filter((row) => row["run_state"] === "running")
        .map((row) => row["thread_id"] as string),
      fences: new Map(actors.map((row) => [row["thread_id"] as string, row["fence"] as number])),
      letters,
      waiting,
    };
  }

  /** I12: waits until nothing runs and nothing waits, answering what waits for somebody. */
  async rest(children: readonly ChildHandle[], approve: () => boolean): Promise<void> {
    const until = performance.now() + HANGS_AFTER_MS;
    // The three looks of `state` are not one: a letter may become a run between them. So it has to be quiet twice.
    for (let quiet = 0; ;) {
      const { running, letters, waiting } = await this.state();
      quiet = running.length === 0 && letters === 0 && waiting === 0 ? quiet + 1 : 0;
      if (quiet === 2) return;
      if (performance.now() > until) {
        throw new Error(
          `After ${HANGS_AFTER_MS} ms: running ${running.join() || "nothing"}, ${letters} messages and ${waiting} calls wait.`,
        );
      }
      if (waiting > 0) await this.decideAll(children, approve);
      await delay(10);
    }
  }

  /** What does not hold, in words; empty when all is well. */
  async problems(): Promise<string[]> {
    const memory = (await this.store.getStore("memory"))!;
    const problems: string[] = [];
    // The histories before the effects: what is in a history has had its effect.
    const histories = new Map<string, StoredMessage[]>();
    for (const threadId of this.threads) {
      histories.set(threadId, await memory.recentMessages({ threadId, limit: 100_000 }));
    }
    const lines = existsSync(this.effects)
      ? readFileSync(this.effects, "utf8").split("\n").filter(Boolean)
      : [];
    problems.push(
      ...lines.filter((line) => line.startsWith("!")).map((line) => `I9 a prompt does not fit: ${line}`),
    );
    const effects = Map.groupBy(
      lines.filter((line) => !line.startsWith("!")),
      (line) => line,
    );
    const known = new Set(
      [...histories.values()]
        .flat()
        .flatMap(({ content }) =>
          content.parts.flatMap((part) =>
            part.type === "tool-invocation" ? part.toolInvocation.toolCallId : [],
          ),
        ),
    );
    for (const [id, times] of effects) {
      if (times.length > 1 && !id.includes("-idempotent-"))
        problems.push(`I5 ${id} ran ${times.length} times`);
      if (!known.has(id)) problems.push(`I5 ${id} ran and is in no history`);
    }
    const errands = Map.groupBy(effects.keys(), errandOf);
    for (const [errand, ids] of errands)
      if (ids.length > 1) problems.push(`I5 ${errand} was done under ${ids.length} ids: ${ids.join()}`);
    for (const [id, decisions] of this.decisions) {
      if (decisions.length > 1) problems.push(`I6 ${id} was decided ${decisions.length} times`);
      if (decisions[0] === false && effects.has(id)) problems.push(`I6 ${id} was declined and ran`);
    }
    for (const id of effects.keys()) {
      if (id.includes("-approve-") && this.decisions.get(id)?.[0] === false)
        problems.push(`I6 ${id} ran although it was declined`);
    }
    for (const [threadId, history] of histories) {
      problems.push(
        ...this.#historyProblems(threadId, history, effects),
        ...(await this.#logProblems(threadId)),
      );
    }
    return problems;
  }

  #historyProblems(
    threadId: string,
    history: readonly StoredMessage[],
    effects: ReadonlyMap<string, string[]>,
  ): string[] {
    const problems: string[] = [];
    const positions = new Map<string, number[]>();
    const calls = new Set<string>();
    for (const [index, message] of history.entries()) {
      for (const part of message.content.parts) {
        if (message.role !== "assistant" && part.type === "text") {
          const token = part.text.split(" ")[0]!;
          positions.set(token, [...(positions.get(token) ?? []), index]);
        }
        if (part.type !== "tool-invocation") continue;
        const { toolCallId, state } = part.toolInvocation;
        if (calls.has(toolCallId)) problems.push(`I9 call ${toolCallId} is stored twice`);
        calls.add(toolCallId);
        if (state !== "result" && state !== "output-error" && state !== "output-denied")
          problems.push(`I9 call ${toolCallId} is left as "${state}"`);
        if (state === "result" && !part.toolInvocation.isError && !effects.has(toolCallId))
          problems.push(`I9 call ${toolCallId} has a result and did not run`);
      }
    }
    const last = { message: -1, queue: -1 };
    for (const sent of this.sent.filter((one) => one.threadId === threadId)) {
      const found = positions.get(sent.token) ?? [];
      if (found.length > 1) problems.push(`I2 ${sent.token} is stored ${found.length} times`);
      if (!sent.acknowledged) continue;
      if (found.length === 0) problems.push(`I1 ${sent.token} (${sent.api}) was acknowledged and is lost`);
      else if (found[0]! < last[sent.api] && sent.key === undefined)
        problems.push(`I3 ${sent.token} is stored before one that was sent earlier`);
      if (found.length > 0 && sent.key === undefined) last[sent.api] = found[0]!;
    }
    return problems;
  }

  /** I4, I10: numbers without a gap, and runs one after another. */
  async #logProblems(threadId: string): Promise<string[]> {
    const rows = await this.store.select({
      table: EVENTS,
      where: { thread_id: threadId },
      orderBy: [{ column: "first" }],
    });
    const problems: string[] = [];
    const over = new Set<unknown>();
    let next = 1;
    let current: unknown;
    const shown = Map.groupBy(rows.flatMap(tokensOf), (token) => token);
    for (const { token, acknowledged } of this.sent.filter((one) => one.threadId === threadId)) {
      const times = shown.get(token)?.length ?? 0;
      if (times > 1 || (acknowledged && times === 0))
        problems.push(`I14 ${token} is ${times} times on the stream of ${threadId}`);
    }
    for (const row of rows) {
      if (row["first"] !== next)
        problems.push(`I10 the log of ${threadId} has ${JSON.stringify(row["first"])} after ${next - 1}`);
      next = (row["last"] as number) + 1;
      if (row["run_id"] === current) continue;
      over.add(current);
      current = row["run_id"];
      if (over.has(current))
        problems.push(`I4 run ${JSON.stringify(current)} of ${threadId} went on after another had begun`);
    }
    return problems;
  }

  async close(): Promise<void> {
    await this.store.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** The messages that a piece of the log shows. */
function tokensOf(row: Row): string[] {
  const chunks = row["chunks"] as { type: string; data?: { contents?: string } }[];
  return chunks.flatMap(({ type, data }) =>
    type === "data-user-message" ? (data?.contents?.split(" ")[0] ?? []) : [],
  );
}
