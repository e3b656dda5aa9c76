import { virtualSystem } from "@selvedge/testing";
import { expect, test } from "vitest";
import { RunTimers } from "./run-timers.ts";

function timersWith(...waits: number[]) {
  const system = virtualSystem();
  const timers = new RunTimers(system);
  const fired: [wait: number, at: number][] = [];
  const start = system.monotonic();
  const set = (wait: number) => timers.setTimer(wait, () => fired.push([wait, system.monotonic() - start]));
  return { system, timers, fired, set, cancels: waits.map(set) };
}

test("fires each timer at its time, whatever the order in which they were set", async () => {
  const { system, fired, set } = timersWith(500, 20, 20, 300);
  await system.advance(100);
  set(50);
  await system.advance(1000);
  expect(fired).toEqual([
    [20, 20],
    [20, 20],
    [50, 150],
    [300, 300],
    [500, 500],
  ]);
  expect(system.pending).toBe(0);
});

test("a cancelled timer does not fire, and those after it fire in time", async () => {
  const { system, fired, cancels } = timersWith(20, 40);
  cancels[0]!();
  cancels[0]!();
  await system.advance(39);
  expect(fired).toEqual([]);
  await system.advance(1);
  expect(fired).toEqual([[40, 40]]);
});

test("a callback may cancel another timer that is due, and set one", async () => {
  const system = virtualSystem();
  const timers = new RunTimers(system);
  const fired: string[] = [];
  timers.setTimer(10, () => {
    fired.push("first");
    cancel();
    timers.setTimer(5, () => fired.push("third"));
  });
  const cancel = timers.setTimer(10, () => fired.push("second"));
  await system.advance(10);
  expect(fired).toEqual(["first"]);
  await system.advance(5);
  expect(fired).toEqual(["first", "third"]);
});

test("steps that set and cancel a limit each use one real timer, which goes when the run ends", async () => {
  const { system, timers, set } = timersWith();
  for (let step = 0; step < 100; step++) set(600_000)();
  expect(system.pending).toBe(1);
  timers.close();
  expect(system.pending).toBe(0);
});

test("waits longer than a real timer can", async () => {
  const { system, fired, set } = timersWith();
  set(2 ** 32);
  await system.advance(2 ** 31);
  expect(fired).toEqual([]);
  await system.advance(2 ** 31);
  expect(fired).toEqual([[2 ** 32, 2 ** 32]]);
});
