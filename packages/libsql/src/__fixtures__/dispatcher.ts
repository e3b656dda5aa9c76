/**
 * A separate process that dispatches notifications: `node dispatcher.ts <url> <when to die>`. With `claimed` it is
 * killed between claim and send, with `sent` right after the send took effect; with `never` it runs until it is
 * stopped.
 */
import { Mastra } from "@selvedge/core";
import { Agent } from "@selvedge/core/agent";
import type { CommitResult, Write } from "@selvedge/core/storage";
import { Memory } from "@selvedge/memory";
import { scriptedModel } from "@selvedge/testing";
import { LibSQLStore } from "../libsql-store.ts";

const [url, dies] = process.argv.slice(2);

class MortalStore extends LibSQLStore {
  override async commit(writes: readonly Write[]): Promise<CommitResult> {
    const result = await super.commit(writes);
    const touches = (name: string) => writes.some(({ table }) => table.name === `selvedge_${name}`);
    const moment = touches("notifications") && (touches("mailbox") ? "sent" : "claimed");
    if (moment === dies) process.kill(process.pid, "SIGKILL");
    return result;
  }
}

const storage = new MortalStore({ url: url! });
const agent = new Agent({
  id: "support",
  name: "Support",
  instructions: "Triage.",
  model: scriptedModel(() => "Noted."),
  memory: new Memory({ storage }),
});
const dispatch = { enabled: true, cron: "* * * * * *" };
const mastra = new Mastra({ agents: { agent }, storage, logger: false, notifications: { dispatch } });
await mastra.start();
process.stdout.write("started\n");
await new Promise((resolve) => process.stdin.once("data", resolve));
process.stdin.destroy();
await mastra.close();
