import type { NumberedWorkflowChunk } from "@selvedge/protocol";
import { describe, expect, it } from "vitest";
import { createStyle } from "../style.ts";
import { RunPrinter } from "./run-printer.ts";

type Event = [type: string, payload: object];

function shown(events: readonly Event[], isTTY = false): string {
  let text = "";
  const printer = new RunPrinter({ isTTY, write: (part: string) => (text += part) }, createStyle(false));
  for (const [type, payload] of events) printer.take({ type, payload } as NumberedWorkflowChunk);
  printer.close();
  return text;
}

const started = (id: string, stepCallId = id): Event => ["workflow-step-start", { id, stepCallId }];
const ended = (id: string, stepCallId = id): Event => [
  "workflow-step-result",
  { id, stepCallId, status: "success" },
];

describe("the lines of a run", () => {
  it("have the time of each item of a foreach, though the items have one name", () => {
    const text = shown([
      started("i", "r/i[0]"),
      started("i", "r/i[1]"),
      ended("i", "r/i[0]"),
      ended("i", "r/i[1]"),
    ]);
    expect(text).toMatch(/^✓ i \d+ ms\n✓ i \d+ ms\n$/);
  });

  it("show a sleep as a sleep, with its time", () => {
    const id = "sleep_reserve+quote";
    const text = shown([["workflow-step-waiting", { id, status: "waiting" }], ended(id, `r/${id}`)]);
    expect(text).toMatch(/^… sleep\n✓ sleep \d+ ms\n$/);
  });

  it("show what is running in a terminal, each name once", () => {
    const text = shown([started("a"), started("i", "r/i[0]"), started("i", "r/i[1]")], true);
    expect(text.split("\r\u001B[2K").at(-2)).toMatch(/^▸ a \d+ ms, i \d+ ms$/);
  });

  it("show why a step failed and what one waits for", () => {
    const text = shown([
      started("a"),
      [
        "workflow-step-result",
        { id: "a", stepCallId: "a", status: "failed", error: { message: "no\u001B[2J" } },
      ],
      started("b"),
      ["workflow-step-suspended", { id: "b", stepCallId: "b", suspendPayload: { ask: 1 } }],
    ]);
    expect(text).toMatch(/^✗ a \d+ ms\n {2}no.*\n◆ b waits \{"ask":1\}\n$/);
    expect(text).not.toContain("\u001B");
  });
});
