import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { MESSAGES, type NotificationDomain } from "@selvedge/core/storage";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LibSQLStore } from "./libsql-store.ts";

const PROGRAM = fileURLToPath(new URL("__fixtures__/dispatcher.ts", import.meta.url));
const target = { threadId: "t", resourceId: "r", agentId: "support" };

let folder: string;
let storage: LibSQLStore;
let domain: NotificationDomain;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "selvedge-"));
  storage = new LibSQLStore({ url: `file:${join(folder, "store.db")}` });
  domain = (await storage.getStore("notifications"))!;
});

afterEach(async () => {
  await storage.close();
  await rm(folder, { recursive: true });
});

function dispatcher(dies: "claimed" | "sent" | "never"): ChildProcess {
  const flags = ["--conditions=selvedge-source", "--disable-warning=ExperimentalWarning"];
  return spawn(process.execPath, [...flags, PROGRAM, `file:${join(folder, "store.db")}`, dies], {
    stdio: ["pipe", "pipe", "inherit"],
  });
}

/** Records that are due at once. */
async function file(count: number): Promise<void> {
  for (let index = 0; index < count; index++) {
    const event = { source: "github", kind: "ci-status", summary: `event ${index}` };
    await domain.createNotification({ ...target, ...event, deliverAt: new Date(Date.now() - 1) });
  }
}

async function untilDelivered(count: number): Promise<void> {
  for (;;) {
    const done = await domain.listNotifications({ threadId: "t", status: "delivered" });
    if (done.length === count) return;
    await wait(50);
  }
}

/** The texts of notifications in the history, once each run has taken its letters. */
async function heard(count: number): Promise<string[]> {
  for (;;) {
    const rows = await storage.select({ table: MESSAGES, where: { type: "notification" } });
    if (rows.length >= count) {
      await wait(300);
      const all = await storage.select({ table: MESSAGES, where: { type: "notification" } });
      return all.map((row) => JSON.stringify(row["content"]).match(/event \d+/)![0]).sort();
    }
    await wait(50);
  }
}

async function stop(...children: ChildProcess[]): Promise<void> {
  for (const child of children) child.stdin!.write("stop\n");
  await Promise.all(children.map(async (child) => child.exitCode ?? once(child, "exit")));
}

describe("dispatchers on one libSQL file", () => {
  it.each(["claimed", "sent"] as const)(
    "deliver each record once after one was killed when it had %s",
    async (dies) => {
      await file(3);
      const [code, signal] = await once(dispatcher(dies), "exit");
      expect([code, signal]).toEqual([null, "SIGKILL"]);
      const next = dispatcher("never");
      await untilDelivered(3);
      expect(await heard(3)).toEqual(["event 0", "event 1", "event 2"]);
      await stop(next);
    },
  );

  it("share the work of one inbox and send nothing twice", async () => {
    const children = [dispatcher("never"), dispatcher("never")];
    await Promise.all(children.map((child) => once(child.stdout!, "data")));
    await file(30);
    await untilDelivered(30);
    expect(await heard(30)).toEqual(Array.from({ length: 30 }, (_, index) => `event ${index}`).sort());
    await stop(...children);
  });
});
