import { AgentError } from "../../errors.ts";
import type { ProcessStore } from "./process-domain.ts";
import type { RunningCommand } from "./running-command.ts";

const PER_THREAD = 16;
const PER_HOST = 64;
/** Ended processes whose output is kept in memory. */
const REMEMBERED = 32;

/** The background processes of a workspace in this process, by thread. */
export class BackgroundProcesses {
  readonly #commands = new Set<RunningCommand>();

  add(command: RunningCommand): void {
    this.#commands.add(command);
    const ended = [...this.#commands].filter(({ result }) => result);
    for (const one of ended.slice(0, -REMEMBERED)) this.#commands.delete(one);
  }

  get(threadId: string, pid: string): RunningCommand | undefined {
    return [...this.#commands].findLast((one) => one.threadId === threadId && one.handle.pid === pid);
  }

  /** Throws if the thread or this machine has reached its limit. */
  async requireRoom(threadId: string, store: ProcessStore | undefined): Promise<void> {
    const running = [...this.#commands].filter(({ result }) => !result);
    const [ofThread, ofHost] = store
      ? await Promise.all([store.countBackground(threadId), store.countBackground()])
      : [running.filter((one) => one.threadId === threadId).length, running.length];
    if (ofThread < PER_THREAD && ofHost < PER_HOST) return;
    const [count, what] = ofThread < PER_THREAD ? [ofHost, "this machine"] : [ofThread, "this thread"];
    throw new AgentError(
      "limit-exceeded",
      `${count} background processes are already running on ${what}. End one with kill_process first.`,
    );
  }

  async killAll(threadId?: string): Promise<void> {
    const mine = [...this.#commands].filter((one) => threadId === undefined || one.threadId === threadId);
    await Promise.all(mine.map((one) => one.handle.kill()));
  }
}
