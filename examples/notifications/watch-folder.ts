import { type FSWatcher, watch } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Agent } from "@selvedge/core/agent";

/** A signal source: sends a notification to a thread for every new file in a folder. */
export class FolderSource {
  readonly #folder: string;
  readonly #agent: Agent;
  readonly #thread: { resourceId: string; threadId: string };
  readonly #watcher: FSWatcher;
  readonly #filed = new Set<string>();
  #looking: Promise<void> = Promise.resolve();

  constructor(folder: string, agent: Agent, thread: { resourceId: string; threadId: string }) {
    this.#folder = folder;
    this.#agent = agent;
    this.#thread = thread;
    this.#watcher = watch(folder, () => (this.#looking = this.#looking.then(() => this.#look())));
  }

  [Symbol.dispose](): void {
    this.#watcher.close();
  }

  async #look(): Promise<void> {
    const names = await readdir(this.#folder);
    for (const name of names.filter((one) => !this.#filed.has(one)).sort()) {
      const text = await readFile(join(this.#folder, name), "utf8");
      await this.#agent.sendNotificationSignal(
        {
          source: "folder",
          kind: "new-file",
          priority: name.startsWith("urgent") ? "urgent" : "low",
          summary: `${name} arrived: ${text.trim()}`,
          payload: { name, bytes: text.length },
          // After a restart, sending the same file again updates its pending record.
          dedupeKey: `folder:${name}`,
        },
        this.#thread,
      );
      this.#filed.add(name);
    }
  }
}
