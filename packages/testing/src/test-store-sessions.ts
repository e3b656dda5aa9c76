import { SESSION_DOMAIN, SessionDomain, type StoredSession } from "@selvedge/core/agent-controller";
import { realSystem, type Storage } from "@selvedge/core/storage";
import { expect } from "vitest";
import type { StoreTest } from "./test-store.ts";

function domainOf(storage: Storage): Promise<SessionDomain> {
  return storage.domain(SESSION_DOMAIN);
}

const session = (
  id: string,
  more: Partial<StoredSession> = {},
): Omit<StoredSession, "version" | "threadVersion" | "createdAt" | "updatedAt"> => ({
  controllerId: "c",
  id,
  ownerId: "o",
  resourceId: "r",
  defaultResourceId: "r",
  threadId: undefined,
  modeId: "plan",
  modelId: "",
  tags: { projectPath: "/a" },
  state: { count: 0 },
  rules: { categories: {}, tools: {} },
  grants: { categories: [], tools: [] },
  settings: {},
  process: undefined,
  ...more,
});

export function testSessionDomain(test: StoreTest): void {
  test("keeps a session under its controller and id, once", async (storage, harness) => {
    const domain = await domainOf(storage);
    const created = await domain.createSession(session("s"));
    expect(created).toMatchObject({ version: 1, state: { count: 0 }, threadId: undefined });
    await expect(domain.createSession(session("s"))).rejects.toMatchObject({ code: "conflict" });
    await domain.createSession(session("s", { controllerId: "d", modeId: "build" }));
    expect(await domain.getSession({ controllerId: "c", id: "s" })).toEqual(created);
    expect(await domain.getSession({ controllerId: "d", id: "s" })).toMatchObject({ modeId: "build" });
    expect(await domain.getSession({ controllerId: "c", id: "none" })).toBeNull();
    if (!harness.reopen) return;
    await storage.close();
    const again = await harness.reopen();
    expect(await (await domainOf(again)).getSession({ controllerId: "c", id: "s" })).toEqual(created);
    await again.close();
  });

  test("changes a session only from the version that was seen", async (storage) => {
    const domain = await domainOf(storage);
    const first = await domain.createSession(session("s"));
    const second = await domain.changeSession(first, { modeId: "build", threadId: "t" });
    expect(second).toMatchObject({ version: 2, modeId: "build", threadId: "t", state: { count: 0 } });
    await expect(domain.changeSession(first, { modeId: "ask" })).rejects.toMatchObject({ code: "conflict" });
    const third = await domain.changeSession(second, { threadId: undefined });
    expect(await domain.getSession({ controllerId: "c", id: "s" })).toEqual(third);
    expect(third.threadId).toBeUndefined();
  });

  test("tells a session from one with the same id that was deleted at the same moment", async (storage) => {
    await domainOf(storage);
    const domain = new SessionDomain(storage, { ...realSystem, now: () => 1_800_000_000_000 });
    const deleted = await domain.createSession(session("s"));
    await domain.deleteSession(deleted);
    const created = await domain.createSession(session("s"));
    await expect(domain.changeSession(deleted, { modeId: "ask" })).rejects.toMatchObject({
      code: "conflict",
    });
    expect(await domain.getSession({ controllerId: "c", id: "s" })).toEqual(created);
  });

  test("loses no change that several connections make at once", async (storage, harness) => {
    await (await domainOf(storage)).createSession(session("s"));
    const connections = await harness.connections(3);
    const increment = async (connection: Storage): Promise<void> => {
      const domain = await domainOf(connection);
      for (let done = 0; done < 10;) {
        const seen = (await domain.getSession({ controllerId: "c", id: "s" }))!;
        const state = { count: (seen.state["count"] as number) + 1 };
        done += await domain.changeSession(seen, { state }).then(
          () => 1,
          () => 0,
        );
      }
    };
    await Promise.all(connections.map(increment));
    const after = await (await domainOf(storage)).getSession({ controllerId: "c", id: "s" });
    expect(after).toMatchObject({ state: { count: 30 }, version: 31 });
  });

  test("lists the sessions of processes, and deletes them", async (storage) => {
    const domain = await domainOf(storage);
    for (const id of ["a", "b"]) await domain.createSession(session(id, { process: `p-${id}` }));
    await domain.createSession(session("shared"));
    await domain.createSession(session("other", { controllerId: "d", process: "p" }));
    const own = await domain.listOwnSessions("c", 10);
    expect(own.map(({ id }) => id).toSorted()).toEqual(["a", "b"]);
    expect(await domain.listOwnSessions("c", 1)).toHaveLength(1);
    expect(
      (await domain.getSessions("c", ["a", "shared", "none", "other"])).map(({ id }) => id).toSorted(),
    ).toEqual(["a", "shared"]);
    expect(await domain.deleteSession({ controllerId: "c", id: "a" })).toBe(true);
    expect(await domain.deleteSession({ controllerId: "c", id: "a" })).toBe(false);
    expect(await domain.listOwnSessions("c", 10)).toHaveLength(1);
  });

  test("refuses ids and sessions that cannot be stored", async (storage) => {
    const domain = await domainOf(storage);
    await expect(
      domain.createSession(session("s", { state: { text: "x".repeat(2 << 20) } })),
    ).rejects.toMatchObject({
      code: "limit-exceeded",
    });
    for (const id of ["", "a\0b", "x".repeat(300), undefined as never])
      await expect(domain.getSession({ controllerId: "c", id })).rejects.toMatchObject({
        code: "invalid-argument",
      });
  });
}
