import type { System } from "../../system.ts";
import type { LocalProcess } from "./local-process.ts";
import type { ProcessHandle, ProcessInfo, SandboxProcessManager, SpawnOptions } from "./workspace-sandbox.ts";

/** Ended processes that can still be looked up. */
const REMEMBERED = 64;

type Spawn = (command: string, options: SpawnOptions) => Promise<LocalProcess>;

/** The processes that a sandbox started in this process. */
export class LocalProcesses implements SandboxProcessManager {
  readonly #spawn: Spawn;
  readonly #system: System;
  readonly #known = new Map<string, LocalProcess>();

  constructor(spawn: Spawn, system: System) {
    this.#spawn = spawn;
    this.#system = system;
  }

  async spawn(command: string, options: SpawnOptions = {}): Promise<ProcessHandle> {
    const { timeout, abortSignal } = options;
    abortSignal?.throwIfAborted();
    const started = await this.#spawn(command, options);
    this.#known.delete(started.pid);
    this.#known.set(started.pid, started);
    this.#forgetOld();
    const cancel =
      timeout === undefined ? undefined : this.#system.setTimer(timeout, () => void started.end("timeout"));
    void started.wait(abortSignal ? { abortSignal } : {}).then(() => cancel?.());
    return started;
  }

  async list(): Promise<ProcessInfo[]> {
    return [...this.#known.values()].map((one) => ({
      pid: one.pid,
      command: one.command,
      running: isRunning(one),
      ...(one.exitCode !== undefined && { exitCode: one.exitCode }),
    }));
  }

  async get(pid: string): Promise<ProcessHandle | undefined> {
    return this.#known.get(pid);
  }

  async kill(pid: string): Promise<boolean> {
    return (await this.#known.get(pid)?.kill()) ?? false;
  }

  async killAll(): Promise<void> {
    await Promise.all([...this.#known.values()].map((one) => one.kill()));
  }

  #forgetOld(): void {
    const ended = [...this.#known.values()].filter((one) => !isRunning(one));
    for (const { pid } of ended.slice(0, -REMEMBERED)) this.#known.delete(pid);
  }
}

function isRunning({ exitCode }: LocalProcess): boolean {
  return exitCode === undefined;
}
