import { virtualSystem } from "@selvedge/testing";
import { expect, it } from "vitest";
import { InMemoryDriver } from "../storage/in-memory-driver.ts";
import { Storage } from "../storage/storage.ts";
import type { System } from "../system.ts";
import { controllerWith } from "./__fixtures__/controller-with.ts";

/** Counts what is asked of the store. */
class CountingDriver extends InMemoryDriver {
  calls = 0;

  override select(...args: Parameters<InMemoryDriver["select"]>): ReturnType<InMemoryDriver["select"]> {
    this.calls++;
    return super.select(...args);
  }

  override count(...args: Parameters<InMemoryDriver["count"]>): ReturnType<InMemoryDriver["count"]> {
    this.calls++;
    return super.count(...args);
  }

  override commit(...args: Parameters<InMemoryDriver["commit"]>): ReturnType<InMemoryDriver["commit"]> {
    this.calls++;
    return super.commit(...args);
  }
}

class CountedStorage extends Storage {
  readonly driver: CountingDriver;

  constructor(system: System) {
    const driver = new CountingDriver("counted");
    super(driver, { id: "counted", system });
    this.driver = driver;
  }
}

/** What so many idle sessions ask of the store in a time. */
async function callsOf(sessions: number, ms: number): Promise<number> {
  const system = virtualSystem();
  const storage = new CountedStorage(system);
  const { controller } = controllerWith(["Hello."], { storage, system });
  for (let index = 0; index < sessions; index++) {
    const opened = controller.createSession({ id: `s${index}`, ownerId: "o", threadId: `t${index}` });
    await system.until(opened);
  }
  // The first look at a thread knows nothing of it.
  await system.advance(60_000);
  const before = storage.driver.calls;
  await system.advance(ms);
  return storage.driver.calls - before;
}

it("asks nothing of the store while it is idle: its process looks once for all sessions", async () => {
  expect(await callsOf(40, 600_000)).toBe(await callsOf(1, 600_000));
});
