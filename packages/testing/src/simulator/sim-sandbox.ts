import { AgentError } from "@selvedge/core";
import { Readable, Writable } from "node:stream";
import type {
  CommandResult,
  ProcessHandle,
  SandboxInfo,
  SpawnOptions,
  WorkspaceSandbox,
} from "@selvedge/core/workspace";
import type { SimCommand, SimMachine } from "./sim-machine.ts";
import type { SimProcess } from "./sim-process.ts";

/** Calls an effect between whose parts a process can die. */
type Step = <Value>(label: () => string, effect: () => Promise<Value>) => Promise<Value>;

/** Runs commands on a simulated machine. A command is the id of the call that runs it. */
export class SimSandbox implements WorkspaceSandbox {
  readonly id = "simulated";
  readonly name = "SimSandbox";
  readonly provider = "simulated";
  readonly status = "running";
  readonly #process: SimProcess;
  readonly #machine: SimMachine;
  readonly #step: Step;
  readonly #onStart: (command: SimCommand) => void;

  constructor(options: {
    process: SimProcess;
    machine: SimMachine;
    step: Step;
    onStart(command: SimCommand): void;
  }) {
    this.#process = options.process;
    this.#machine = options.machine;
    this.#step = options.step;
    this.#onStart = options.onStart;
  }

  getInfo(): SandboxInfo {
    const { id, name, provider, status } = this;
    return { id, name, provider, status, isolation: "bwrap", network: false };
  }

  getInstructions(): string {
    return "";
  }

  readonly processes = {
    spawn: (command: string, options: SpawnOptions = {}): Promise<ProcessHandle> =>
      this.#spawn(command, options),
    list: async (): Promise<[]> => [],
    get: async (): Promise<undefined> => undefined,
    kill: async (): Promise<boolean> => false,
  };

  async #spawn(
    toolCallId: string,
    { beforeRun, onStdout, abortSignal }: SpawnOptions,
  ): Promise<ProcessHandle> {
    const command: SimCommand = {
      toolCallId,
      owner: this.#process,
      ran: false,
      killed: false,
      isOver: false,
    };
    const started = await this.#step(
      () => `start ${toolCallId}`,
      async () => this.#machine.start(command),
    );
    const close = (): void => {
      command.isOver = true;
      this.#machine.end(started);
    };
    // A process that waits to be let go ends with the one that started it.
    const stopWaiting = this.#process.whenDead(() => !command.ran && close());
    const result = (): CommandResult => ({
      success: !command.killed,
      exitCode: command.killed ? 143 : 0,
      stdout: "",
      stderr: "",
      executionTimeMs: 0,
      ...(command.killed && { killed: true }),
    });
    let ended: Promise<CommandResult> | undefined;
    const kill = async (): Promise<boolean> => {
      if (command.isOver) return false;
      command.killed = true;
      close();
      return true;
    };
    const handle: ProcessHandle = {
      pid: String(started.pid),
      command: toolCallId,
      stdout: "",
      stderr: "",
      get exitCode() {
        return command.isOver ? result().exitCode : undefined;
      },
      reader: new Readable(),
      writer: new Writable(),
      wait: async () => ended!,
      kill,
      sendStdin: async () => {},
      closeStdin: async () => {},
    };
    try {
      await beforeRun?.(handle);
      abortSignal?.throwIfAborted();
    } catch (error) {
      close();
      throw error;
    }
    await this.#step(
      () => `run ${toolCallId}`,
      async () => {
        if (command.killed) throw new AgentError("tool-aborted", "The command was killed before it ran.");
        command.ran = true;
        this.#onStart(command);
        onStdout?.(`${toolCallId}\n`);
      },
    );
    stopWaiting();
    const { random } = this.#process.world;
    const ms = random.chance(0.2) ? random.between(500, 30_000) : random.between(0, 20);
    ended = this.#process.work(`command ${toolCallId}`, ms).then(() => {
      close();
      return result();
    });
    return handle;
  }
}
