import { describe, expect, it } from "vitest";
import { createSignal } from "../../signal/signal.ts";
import type { Actor } from "../hold/actor.ts";
import { type Admission, decide, mayHaveTakenEffect, type SendRequest } from "./admission.ts";
import { AgentError } from "../../errors.ts";
import { type MailboxItem, NOW } from "./mailbox.ts";

const make = { newId: () => "s1", now: () => 0 };
const signal = createSignal({ type: "user-message", contents: "hi", attributes: { from: "ann" } }, make);

const request = (change: Partial<SendRequest> = {}): SendRequest => ({
  signal,
  agentId: "me",
  delivery: { queued: false, ifActive: "deliver", ifIdle: "wake" },
  hasOwnId: false,
  newRunId: "new",
  streamOptions: undefined,
  durableContextKeys: [],
  attributes: { active: { late: true }, idle: { early: true } },
  idempotencyKey: undefined,
  ...change,
});

const actor = (change: Partial<Actor> = {}): Actor => ({
  threadId: "t",
  resourceId: "r",
  owner: undefined,
  fence: 1,
  runId: undefined,
  runState: "idle",
  agentId: undefined,
  nextSeq: 1,
  abortRun: undefined,
  mailboxCount: 0,
  ...change,
});
const running = (agentId: string): Actor => actor({ runId: "run", runState: "running", agentId });
const item = (change: Partial<MailboxItem> = {}): MailboxItem => ({
  seq: 1,
  threadId: "t",
  resourceId: "r",
  agentId: "me",
  due: NOW,
  runId: "promised",
  opens: true,
  signal,
  options: undefined,
  bytes: 2,
  ...change,
});
const queued = { delivery: { queued: true, ifActive: "deliver", ifIdle: "wake" } } as const;

const inShort = ({ delivery, runId }: Admission): string => `${delivery.action} ${delivery.branch} ${runId}`;

describe("an admission", () => {
  it.each([
    ["opens a run on a thread that is new", undefined, undefined, request(), "wake idle new"],
    ["opens a run on an idle thread", actor(), undefined, request(), "wake idle new"],
    ["joins the run of its agent", running("me"), undefined, request(), "deliver active run"],
    ["waits behind another agent's run", running("other"), undefined, request(), "queue idle new"],
    [
      "joins the run that an earlier message is about to open",
      actor(),
      item(),
      request(),
      "deliver active promised",
    ],
    [
      "joins the run of a message that was left over, which is named after it",
      actor(),
      item({ opens: false }),
      request(),
      "deliver active s1",
    ],
    [
      "joins its agent's next run behind another agent's",
      running("other"),
      item(),
      request(),
      "deliver idle promised",
    ],
    [
      "opens its own run behind another agent's if it was queued",
      running("other"),
      item(),
      request(queued),
      "queue idle new",
    ],
    [
      "opens its own run after one that is about to open if it was queued",
      actor(),
      item(),
      request(queued),
      "queue idle new",
    ],
  ])("%s", (_, seen, reserved, sent, expected) => {
    expect(inShort(decide({ actor: seen, reserved }, sent))).toBe(expected);
  });

  it("adds the attributes of its branch, and leaves the signal that was sent as it is", () => {
    const idle = decide({ actor: undefined, reserved: undefined }, request());
    const active = decide({ actor: running("me"), reserved: undefined }, request());
    expect(idle.signal.attributes).toEqual({ from: "ann", early: true });
    expect(active.signal.attributes).toEqual({ from: "ann", late: true });
    expect(signal.attributes).toEqual({ from: "ann" });
  });

  it.each([
    [new AgentError("conflict", "the thread changed"), false],
    [new AgentError("mailbox-full", "full"), false],
    [new AgentError("storage-failed", "no answer"), true],
    [new Error("anything else"), true],
  ])("may be in the store after %s: %s", (error, expected) => {
    expect(mayHaveTakenEffect(error)).toBe(expected);
  });
});
