import type { Storage, ThreadStateDomain } from "@selvedge/core/storage";
import { expect } from "vitest";
import type { StoreTest } from "./test-store.ts";

async function domainOf(storage: Storage): Promise<ThreadStateDomain> {
  return (await storage.getStore("threadState"))!;
}

export function testThreadStateDomain(test: StoreTest): void {
  test("keeps values by thread and type, with a version", async (storage) => {
    const domain = await domainOf(storage);
    expect(await domain.getState({ threadId: "t", type: "task" })).toBeNull();
    expect(await domain.setState({ threadId: "t", type: "task", value: [1] })).toMatchObject({ version: 1 });
    await domain.setState({ threadId: "t", type: "other", value: "x" });
    await domain.setState({ threadId: "u", type: "task", value: null });
    expect(await domain.setState({ threadId: "t", type: "task", value: [1, 2] })).toMatchObject({
      version: 2,
    });
    expect(await domain.getState({ threadId: "t", type: "task" })).toMatchObject({
      value: [1, 2],
      version: 2,
    });
    expect(await domain.getState({ threadId: "u", type: "task" })).toMatchObject({ value: null, version: 1 });
  });

  test("refuses a version that is not the last", async (storage) => {
    const domain = await domainOf(storage);
    const set = (value: unknown, expectedVersion: number) =>
      domain.setState({ threadId: "t", type: "task", value, expectedVersion });
    await set("a", 0);
    await expect(set("b", 0)).rejects.toMatchObject({ code: "conflict" });
    await set("b", 1);
    await expect(set("c", 1)).rejects.toMatchObject({ code: "conflict" });
    expect(await domain.getState({ threadId: "t", type: "task" })).toMatchObject({ value: "b", version: 2 });
  });

  test("loses no change that several connections make at once", async (storage, harness) => {
    const connections = await harness.connections(3);
    const change = async (connection: Storage): Promise<void> => {
      const domain = await domainOf(connection);
      for (let count = 0; count < 10; count++)
        await domain.updateState({ threadId: "t", type: "n" }, (value) => Number(value ?? 0) + 1);
    };
    await Promise.all(connections.map(change));
    expect(await (await domainOf(storage)).getState({ threadId: "t", type: "n" })).toMatchObject({
      value: 30,
      version: 30,
    });
  });

  test("forgets the values of a thread with the thread", async (storage) => {
    const domain = await domainOf(storage);
    await domain.setState({ threadId: "t", type: "task", value: 1 });
    await domain.setState({ threadId: "u", type: "task", value: 2 });
    await (await storage.getStore("memory"))!.deleteThread({ threadId: "t" });
    expect(await domain.getState({ threadId: "t", type: "task" })).toBeNull();
    expect(await domain.getState({ threadId: "u", type: "task" })).toMatchObject({ value: 2 });
  });

  test("refuses what is not JSON, or too much", async (storage) => {
    const domain = await domainOf(storage);
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;
    for (const value of [1n, cycle])
      await expect(domain.setState({ threadId: "t", type: "x", value })).rejects.toMatchObject({
        code: "invalid-argument",
      });
    await expect(
      domain.setState({ threadId: "t", type: "x", value: "x".repeat(2 << 20) }),
    ).rejects.toMatchObject({
      code: "limit-exceeded",
    });
    expect(await domain.getState({ threadId: "t", type: "x" })).toBeNull();
  });
}
