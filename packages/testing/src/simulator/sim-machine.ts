import type { IdentifiedProcess, MachineProcesses } from "@selvedge/core/storage";
import type { SimProcess } from "./sim-process.ts";

/** How a careless implementation would treat processes. */
export interface PlantedCommandFault {
  /** Takes every process with the right number for the one that was started. */
  byNumber?: boolean;
  /** All machines have the same name. */
  oneHost?: boolean;
}

/** A process on a simulated machine: a command, or one of the app's. */
interface Running {
  startTime: string;
  /** What it runs, if it is a command. */
  command?: SimCommand;
}

/** A command, and what became of it. */
export interface SimCommand {
  toolCallId: string;
  owner: SimProcess;
  /** It has its effect when it is let go. */
  ran: boolean;
  killed: boolean;
  isOver: boolean;
}

/** A machine of a simulated world. Its processes live on when the one that started them dies. */
export class SimMachine {
  readonly host: string;
  readonly #planted: PlantedCommandFault;
  readonly #running = new Map<number, Running>();
  #started = 0;

  constructor(host: string, planted: PlantedCommandFault) {
    this.host = host;
    this.#planted = planted;
  }

  /** Starts a process. */
  start(command?: SimCommand): IdentifiedProcess {
    const startTime = String(++this.#started);
    const pid = 100 + this.#running.size;
    this.#running.set(pid, { startTime, ...(command && { command }) });
    return { pid, startTime };
  }

  /** Ends a process. A program of a person gets its number. */
  end({ pid, startTime }: IdentifiedProcess): void {
    if (this.#running.get(pid)?.startTime !== startTime) return;
    this.#running.set(pid, { startTime: String(++this.#started) });
  }

  /** The commands that run. */
  get commands(): SimCommand[] {
    return [...this.#running.values()].flatMap(({ command }) => command ?? []);
  }

  /** The machine as one of its processes sees it. */
  seenBy(process: SimProcess): MachineProcesses {
    const self = this.start();
    process.onDeath = () => this.end(self);
    const isRunning = ({ pid, startTime }: IdentifiedProcess): boolean => {
      const found = this.#running.get(pid);
      return this.#planted.byNumber ? found !== undefined : found?.startTime === startTime;
    };
    return {
      host: this.#planted.oneHost ? "machine" : this.host,
      bootId: "boot",
      self,
      identify: (pid) => ({ pid, startTime: this.#running.get(pid)?.startTime }),
      isRunning,
      kill: (pid) =>
        process.perform(
          () => `kill ${pid}`,
          async () => {
            const found = this.#running.get(pid);
            if (!found) return;
            if (found.command) found.command.killed = true;
            else process.world.violate("I5", `${process.name} killed process ${pid}, which is no command`);
            this.end({ pid, startTime: found.startTime });
          },
        ),
    };
  }
}
