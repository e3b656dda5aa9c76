import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { offAbort, onAbort, OwnAbortController, passOnAbort } from "./abort.ts";

function waiter(): { handleEvent(): void; told: number } {
  return {
    told: 0,
    handleEvent() {
      this.told++;
    },
  };
}

describe.each([
  { name: "an own signal", make: () => new OwnAbortController() },
  { name: "any other signal", make: () => new AbortController() },
])("waiting on $name", ({ make }) => {
  it("tells those who wait once, with the reason set, and nobody who has left", () => {
    const controller = make();
    const reasons: unknown[] = [];
    const waits = { handleEvent: () => void reasons.push(controller.signal.reason) };
    const left = waiter();
    onAbort(controller.signal, waits);
    onAbort(controller.signal, left);
    offAbort(controller.signal, left);
    controller.abort("first");
    controller.abort("second");
    expect([reasons, left.told]).toEqual([["first"], 0]);
  });

  it("lets one who is told leave another out", () => {
    const controller = make();
    const other = waiter();
    onAbort(controller.signal, { handleEvent: () => offAbort(controller.signal, other) });
    onAbort(controller.signal, other);
    controller.abort();
    expect(other.told).toBe(0);
  });
});

it("puts no event listener on an own signal, and still serves those who do", () => {
  const controller = new OwnAbortController();
  onAbort(controller.signal, waiter());
  expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
  const derived = AbortSignal.any([controller.signal]);
  controller.abort("over");
  expect([derived.aborted, derived.reason]).toEqual([true, "over"]);
});

it("passes an abort on, also one that has been, until it is told to stop", () => {
  const from = new AbortController();
  const [early, stopped, late] = [new AbortController(), new AbortController(), new AbortController()];
  passOnAbort(from.signal, early);
  passOnAbort(from.signal, stopped)();
  from.abort("left");
  passOnAbort(from.signal, late);
  expect([early.signal.reason, stopped.signal.aborted, late.signal.reason]).toEqual(["left", false, "left"]);
});
