import { expect, it } from "vitest";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import type { Change } from "../storage/storage.ts";
import { realSystem } from "../system.ts";
import type { SessionDomain, StoredSession } from "./session-domain.ts";
import { SessionRecord } from "./session-record.ts";

async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}

it("reads only the open sessions that a notice names, and all of them in portions if it names none", async () => {
  const storage = new InMemoryStorage();
  let tell = (_: Change): void => {};
  storage.watch = (onChange) => {
    tell = onChange;
    return () => {};
  };
  const stored = new Map(
    Array.from({ length: 1_200 }, (_, index) => {
      const session = {
        id: `s${index}`,
        controllerId: "c",
        version: 1,
        createdAt: new Date(0),
      } as StoredSession;
      return [session.id, session];
    }),
  );
  const asked: (readonly string[])[] = [];
  const domain = {
    system: realSystem,
    getSessions: async (_: string, ids: readonly string[]) => {
      asked.push(ids);
      return ids.map((id) => stored.get(id)!);
    },
  } as unknown as SessionDomain;
  const records = [...stored.values()].map((session) => new SessionRecord(storage, domain, session));
  stored.set("s7", { ...stored.get("s7")!, version: 2 });
  tell({ keys: new Set(["s7", "another"]) });
  // While they are read: the next read has both.
  tell({ keys: new Set(["s8"]) });
  tell({ keys: new Set(["s9"]) });
  await settled();
  tell({ keys: new Set(["another"]) });
  await settled();
  expect(asked.splice(0)).toEqual([["s7"], ["s8", "s9"]]);
  expect(records[7]!.current.version).toBe(2);
  tell("unknown");
  await settled();
  expect(asked.map(({ length }) => length)).toEqual([500, 500, 200]);
  for (const record of records) record.close();
});
