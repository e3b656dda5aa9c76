import { describe, expect, it } from "vitest";
import { decideDelivery, type DeliveryOptions } from "./delivery.ts";

const IDLE = { activeRunId: undefined, activeAgentId: undefined };
const OWN = { activeRunId: "run", activeAgentId: "me" };
const OTHER = { activeRunId: "run", activeAgentId: "other" };
const send = (change: Partial<DeliveryOptions> = {}): DeliveryOptions => ({
  queued: false,
  ifActive: "deliver",
  ifIdle: "wake",
  ...change,
});

describe("a message", () => {
  it.each([
    ["wakes an idle thread", IDLE, send(), { action: "wake", branch: "idle" }],
    ["joins the run of its agent", OWN, send(), { action: "deliver", branch: "active", runId: "run" }],
    ["waits behind the run of another agent", OTHER, send(), { action: "queue", branch: "idle" }],
    [
      "opens its own run at once when queued on an idle thread",
      IDLE,
      send({ queued: true }),
      { action: "wake", branch: "idle" },
    ],
    [
      "waits for its own run when queued behind its agent's",
      OWN,
      send({ queued: true }),
      { action: "queue", branch: "idle" },
    ],
    [
      "is only stored beside a run if asked to be",
      OWN,
      send({ ifActive: "persist" }),
      { action: "persist", branch: "active", runId: "run" },
    ],
    [
      "is dropped beside a run if asked to be",
      OWN,
      send({ ifActive: "discard" }),
      { action: "discard", branch: "active", runId: "run" },
    ],
    [
      "is only stored on an idle thread if asked to be",
      IDLE,
      send({ ifIdle: "persist" }),
      { action: "persist", branch: "idle", runId: undefined },
    ],
    [
      "is dropped on an idle thread if asked to be",
      IDLE,
      send({ ifIdle: "discard" }),
      { action: "discard", branch: "idle", runId: undefined },
    ],
    [
      "takes another agent's run for an idle thread",
      OTHER,
      send({ ifIdle: "persist", ifActive: "discard" }),
      { action: "persist", branch: "idle", runId: undefined },
    ],
    ["looks only at its own branch", IDLE, send({ ifActive: "discard" }), { action: "wake", branch: "idle" }],
  ])("%s", (_, state, options, expected) => {
    expect(decideDelivery(state, "me", options)).toEqual(expected);
  });
});
