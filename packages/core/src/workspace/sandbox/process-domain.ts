import { AgentError } from "../../errors.ts";
import type { Domain } from "../../storage/domain.ts";
import { deletionListeners } from "../../storage/deletion-listeners.ts";
import type { Storage, Write } from "../../storage/storage.ts";
import type { Table } from "../../storage/table.ts";
import { insert, update } from "../../storage/writes.ts";
import type { MachineProcesses, System } from "../../system.ts";
import { realMachine } from "./kill-process.ts";

/** `lost`: its owner died before it ended. */
type ProcessState = "running" | "exited" | "lost";

export type ProcessRow = {
  thread_id: string;
  id: string;
  /** See `processPlace`. */
  workspace: string;
  tool_call_id: string;
  host: string;
  boot_id: string;
  pid: string;
  pgid: number;
  start_time: string | null;
  owner_pid: number;
  owner_start: string | null;
  command: string;
  state: ProcessState;
  /** 1 if it may outlive its call. */
  background: number;
  /** 1 if it was still running when it was found lost, and was killed. */
  was_alive: number | null;
  exit_code: number | null;
  /** How it ended, for the model. */
  ending: string | null;
  output_bytes: number;
  started_at: number;
  ended_at: number | null;
};

type OutputRow = { thread_id: string; id: string; seq: number; output: string };

/** The processes of a thread. A row is stored before the command runs, so it tells whether a call ran before. */
const PROCESSES: Table<ProcessRow> = {
  name: "selvedge_workspace_processes",
  columns: {
    thread_id: "text",
    id: "text",
    workspace: "text",
    tool_call_id: "text",
    host: "text",
    boot_id: "text",
    pid: "text",
    pgid: "integer",
    start_time: "text",
    owner_pid: "integer",
    owner_start: "text",
    command: "text",
    state: "text",
    background: "integer",
    was_alive: "integer",
    exit_code: "integer",
    ending: "text",
    output_bytes: "integer",
    started_at: "integer",
    ended_at: "integer",
  },
  key: ["thread_id", "id"],
  partition: "thread_id",
  indexes: [
    { columns: ["host", "state"] },
    { columns: ["thread_id", "pid"] },
    { columns: ["thread_id", "tool_call_id"] },
    { columns: ["workspace", "started_at"] },
  ],
};

/** What processes wrote, in order. */
const OUTPUT: Table<OutputRow> = {
  name: "selvedge_workspace_output",
  columns: { thread_id: "text", id: "text", seq: "integer", output: "text" },
  key: ["thread_id", "id", "seq"],
  partition: "thread_id",
  indexes: [],
};

const LOOK_MS = 30_000;

export type ProcessKey = Pick<ProcessRow, "thread_id" | "id">;

/** The processes that threads started, and what they wrote. They are deleted with the thread. */
export class ProcessStore {
  readonly #storage: Storage;
  readonly #system: System;
  readonly #machine: MachineProcesses;
  readonly #losing = new Map<string, Promise<ProcessRow>>();

  constructor(storage: Storage, system: System) {
    this.#storage = storage;
    this.#system = system;
    this.#machine = system.machine ?? realMachine(system);
  }

  /** The write that records a process which is about to run its command. */
  begin(
    start: ProcessKey & Pick<ProcessRow, "workspace" | "tool_call_id" | "command" | "background" | "pid">,
  ): Write {
    const pid = Number(start.pid);
    return insert(PROCESSES, {
      ...start,
      host: this.#machine.host,
      boot_id: this.#machine.bootId,
      pgid: pid,
      start_time: this.#machine.identify(pid).startTime ?? null,
      owner_pid: this.#machine.self.pid,
      owner_start: this.#machine.self.startTime ?? null,
      state: "running",
      output_bytes: 0,
      started_at: this.#now(),
    });
  }

  /** Adds output, and with `end` how the process ended. A `conflict` if the thread was deleted. */
  async append(
    { thread_id, id }: ProcessKey,
    pieces: readonly { seq: number; output: string }[],
    bytes: number,
    end?: Partial<ProcessRow>,
  ): Promise<void> {
    await this.#commit(thread_id, [
      update(PROCESSES, {
        where: { thread_id, id },
        increment: { output_bytes: bytes },
        ...(end && { set: { ...end, ended_at: this.#now() } }),
        require: true,
      }),
      ...pieces.map((piece) => insert(OUTPUT, { thread_id, id, ...piece })),
    ]);
  }

  async find({ thread_id, id }: ProcessKey): Promise<ProcessRow | undefined> {
    const [row] = await this.#storage.select({ table: PROCESSES, where: { thread_id, id }, limit: 1 });
    return row;
  }

  /** The last process of a thread with this number, or of this call. */
  async findLast(
    threadId: string,
    which: { pid: string } | { tool_call_id: string },
  ): Promise<ProcessRow | undefined> {
    const [row] = await this.#storage.select({
      table: PROCESSES,
      where: { thread_id: threadId, ...which },
      orderBy: [{ column: "started_at", direction: "desc" }],
      limit: 1,
    });
    return row;
  }

  /** What a process wrote, as far as it is stored. */
  async output({ thread_id, id }: ProcessKey): Promise<string> {
    const rows = await this.#storage.select({
      table: OUTPUT,
      where: { thread_id, id },
      orderBy: [{ column: "seq" }],
    });
    return rows.map((row) => row.output).join("");
  }

  async background({ thread_id, id }: ProcessKey): Promise<void> {
    await this.#commit(thread_id, [update(PROCESSES, { where: { thread_id, id }, set: { background: 1 } })]);
  }

  /** Calls back when a thread is deleted, by this process at once, by others within half a minute. */
  onDeletion(threadId: string, onDeleted: () => void): () => void {
    const listeners = deletionListeners(this.#storage);
    const listener = (deleted: string) => deleted === threadId && onDeleted();
    const look = async () => {
      const rows = await this.#storage.count({ table: PROCESSES, where: { thread_id: threadId } });
      if (rows === 0) onDeleted();
    };
    let isOver = false;
    let cancel: () => void;
    const lookLater = () => {
      if (isOver) return;
      const turn = () =>
        void look()
          .catch(() => {})
          .then(lookLater);
      cancel = this.#system.setTimer(LOOK_MS, turn, { background: true });
    };
    lookLater();
    listeners.add(listener);
    return () => {
      isOver = true;
      cancel();
      listeners.delete(listener);
    };
  }

  /** Background processes of a workspace, of one thread or of all, newest first: at most 100. */
  listBackground(workspace: string, threadId: string | undefined): Promise<ProcessRow[]> {
    return this.#storage.select({
      table: PROCESSES,
      where: { workspace, background: 1, ...(threadId !== undefined && { thread_id: threadId }) },
      orderBy: [{ column: "started_at", direction: "desc" }],
      limit: 100,
    });
  }

  /** Background processes on this machine, of one thread or of all. */
  countBackground(threadId?: string): Promise<number> {
    const where = { host: this.#machine.host, state: "running", background: 1 } as const;
    return this.#storage.count({
      table: PROCESSES,
      where: threadId === undefined ? where : { ...where, thread_id: threadId },
    });
  }

  /** Kills what dead processes of this machine left running. */
  async killLeftovers(): Promise<void> {
    const where = { host: this.#machine.host, state: "running" } as const;
    const rows = await this.#storage.select({ table: PROCESSES, where });
    await Promise.all(rows.filter((row) => !this.hasOwner(row)).map((row) => this.lose(row)));
  }

  /** Whether the process that started it is alive, as far as can be known here. */
  hasOwner({ host, boot_id, owner_pid, owner_start }: ProcessRow): boolean {
    if (host !== this.#machine.host) return true;
    return (
      boot_id === this.#machine.bootId &&
      this.#machine.isRunning({ pid: owner_pid, startTime: owner_start ?? undefined })
    );
  }

  isHere({ host }: ProcessRow): boolean {
    return host === this.#machine.host;
  }

  /** Kills a process by number and start time, and records that no one saw it end. */
  lose(row: ProcessRow): Promise<ProcessRow> {
    // Once: a second check would find it killed, and report that it was not alive.
    let losing = this.#losing.get(row.id);
    if (!losing) {
      losing = this.#lose(row).finally(() => this.#losing.delete(row.id));
      this.#losing.set(row.id, losing);
    }
    return losing;
  }

  async #lose(row: ProcessRow): Promise<ProcessRow> {
    const { thread_id, id, pid, start_time } = row;
    const leader = { pid: Number(pid), startTime: start_time ?? undefined };
    const isAlive =
      this.isHere(row) && row.boot_id === this.#machine.bootId && this.#machine.isRunning(leader);
    if (isAlive) await this.#machine.kill(leader.pid);
    const set = { state: "lost" as const, was_alive: isAlive ? 1 : 0, ended_at: this.#now() };
    await this.#commit(thread_id, [update(PROCESSES, { where: { thread_id, id, state: "running" }, set })]);
    return (await this.find(row)) ?? { ...row, ...set };
  }

  async #commit(threadId: string, writes: readonly Write[]): Promise<void> {
    await this.#storage.commit(writes, { key: threadId, id: this.#system.newId() });
  }

  #now(): number {
    return Math.trunc(this.#system.now());
  }
}

export const PROCESS_DOMAIN: Domain<ProcessStore> = {
  name: "workspace-processes",
  version: 2,
  readableFrom: 1,
  tables: [PROCESSES, OUTPUT],
  open: (storage, system) => new ProcessStore(storage, system),
};

export function isGone(error: unknown): boolean {
  return AgentError.is(error, "conflict");
}
