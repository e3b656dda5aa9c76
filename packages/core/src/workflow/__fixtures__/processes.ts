import { virtualSystem } from "@selvedge/testing";
import type { Agent } from "../../agent/agent.ts";
import { silentLogger } from "../../logger.ts";
import { Mastra } from "../../mastra/mastra.ts";
import { InMemoryDriver } from "../../storage/in-memory-driver.ts";
import { type Commit, type CommitOutcome, Storage } from "../../storage/storage.ts";
import type { Workflow } from "../workflow.ts";

/** One process's way to a store that several share. */
class SharedDriver extends InMemoryDriver {
  readonly #driver: InMemoryDriver;
  #paused = Promise.resolve();
  commits = 0;

  constructor(driver: InMemoryDriver) {
    super("shared");
    this.#driver = driver;
  }

  /** From now on nothing reaches the store, until the returned function is called. */
  pause(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#paused = promise;
    return resolve;
  }

  override async select(
    queries: Parameters<InMemoryDriver["select"]>[0],
  ): ReturnType<InMemoryDriver["select"]> {
    await this.#paused;
    return this.#driver.select(queries);
  }

  override async count(query: Parameters<InMemoryDriver["count"]>[0]): Promise<number> {
    await this.#paused;
    return this.#driver.count(query);
  }

  override async commit(commits: readonly Commit[]): Promise<CommitOutcome[]> {
    this.commits += commits.length;
    await this.#paused;
    return this.#driver.commit(commits);
  }

  override async close(): Promise<void> {}
}

/** Processes that share a store and a clock. */
export function processes() {
  const driver = new InMemoryDriver("shared");
  const system = virtualSystem();
  const start = (name: string, ...workflows: Workflow<any, any, any, any, any>[]) => open(name, workflows);
  const open = (name: string, workflows: Workflow<any, any, any, any, any>[], agents: Agent[] = []) => {
    const own = new SharedDriver(driver);
    const storage = new Storage(own, { id: name, system });
    const mastra = new Mastra({
      workflows: Object.fromEntries(workflows.map((workflow) => [workflow.id, workflow])),
      agents: Object.fromEntries(agents.map((agent) => [agent.id, agent])),
      storage,
      system,
      durableContextKeys: ["tenant"],
      logger: silentLogger,
    });
    return {
      mastra,
      storage,
      driver: own,
      /** Dies: nothing it does reaches the store any more. */
      kill: () => void own.pause(),
      /** Stops, until the returned function is called. */
      pause: () => own.pause(),
    };
  };
  return { system, start, open };
}
