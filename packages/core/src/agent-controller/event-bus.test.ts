import { describe, expect, it } from "vitest";
import { silentLogger } from "../logger.ts";
import type { System } from "../system.ts";
import { Display } from "@selvedge/protocol/session";
import { EventBus } from "@selvedge/protocol/session";
import type { AgentControllerEvent } from "@selvedge/protocol/session";
import { Heartbeats } from "./heartbeats.ts";

/** A clock that goes on when it is told to. */
function clock() {
  let now = 0;
  const timers = new Set<{ at: number; call: () => void }>();
  const system: System = {
    now: () => now,
    monotonic: () => now,
    newId: () => "id",
    random: () => 0,
    setTimer(ms, call) {
      const timer = { at: now + ms, call };
      timers.add(timer);
      return () => timers.delete(timer);
    },
  };
  const pass = async (ms: number) => {
    const until = now + ms;
    for (;;) {
      const next = [...timers].filter(({ at }) => at <= until).toSorted((a, b) => a.at - b.at)[0];
      if (!next) break;
      now = next.at;
      timers.delete(next);
      next.call();
      for (let turn = 0; turn < 5; turn++) await Promise.resolve();
    }
    now = until;
  };
  return { system, pass };
}

function bus() {
  const { system, pass } = clock();
  const made = new EventBus(new Display(), { system, logger: silentLogger });
  const seen: string[] = [];
  return { bus: made, seen, pass, listen: (event: AgentControllerEvent) => void seen.push(event.type) };
}

const text = { type: "text", messageId: "m", text: "x" } as const;
const info = { type: "info", message: "x" } as const;

describe("EventBus", () => {
  it("says after each event that the display changed, and for frequent ones once in a while", async () => {
    const { bus: one, seen, pass, listen } = bus();
    one.subscribe(listen);
    one.emit(info);
    one.emit(text);
    one.emit(text);
    expect(seen).toEqual(["info", "display_state_changed", "text", "text"]);
    await pass(15);
    expect(seen).toHaveLength(4);
    await pass(1);
    expect(seen.slice(4)).toEqual(["display_state_changed"]);
    one.emit(text);
    one.emit(info);
    expect(seen.slice(5)).toEqual(["text", "display_state_changed", "info", "display_state_changed"]);
    await pass(100);
    expect(seen).toHaveLength(9);
  });

  it("keeps the order when a listener makes more happen, and goes on when one fails or leaves", () => {
    const { bus: one, seen, listen } = bus();
    one.subscribe(() => {
      throw new Error("no");
    });
    one.subscribe(async () => {
      throw new Error("later");
    });
    const stop = one.subscribe((event) => {
      if (event.type !== "info") return;
      stop();
      stop();
      one.emit({ type: "thread_deleted", threadId: "t" });
    });
    one.subscribe(listen);
    one.subscribe(listen);
    one.emit(info);
    const twice = ["info", "display_state_changed", "thread_deleted", "display_state_changed"].flatMap(
      (type) => [type, type],
    );
    expect(seen).toEqual(twice);
  });

  it("tells late listeners the state of the workspace", () => {
    const { bus: one, seen, listen } = bus();
    one.emit({ type: "workspace_status_changed", status: "ready" });
    one.emit({ type: "workspace_ready", workspaceId: "w", workspaceName: "W" });
    one.subscribe(listen);
    expect(seen).toEqual(["workspace_status_changed", "workspace_ready"]);
  });
});

describe("Heartbeats", () => {
  it("calls at intervals, never twice at a time, and again after a failure", async () => {
    const { system, pass } = clock();
    const beats = new Heartbeats({ system, logger: silentLogger });
    let calls = 0;
    let release = () => {};
    const handler = () => {
      calls++;
      if (calls === 2) throw new Error("once");
      if (calls === 3) return new Promise<void>((resolve) => (release = resolve));
      return undefined;
    };
    const stopped: string[] = [];
    await beats.register({ id: "h", intervalMs: 10, handler, shutdown: () => void stopped.push("h") });
    expect(calls).toBe(1);
    await pass(20);
    expect(calls).toBe(3);
    await pass(100);
    expect(calls).toBe(3);
    release();
    await pass(0);
    await pass(10);
    expect(calls).toBe(4);
    await beats.register({ id: "h", intervalMs: 10, handler, immediate: false });
    expect([calls, stopped]).toEqual([4, ["h"]]);
    await beats.stop();
    await pass(100);
    expect(calls).toBe(4);
  });
});
