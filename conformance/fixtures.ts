import assert from "node:assert/strict";
import type { Agent } from "@selvedge/core/agent";
import { scriptedModel } from "@selvedge/testing";
import type { Block } from "./extract-blocks.ts";

type SystemMessage = { role: "system"; content: string; providerOptions?: unknown };

/** Asks an agent something and answers the system messages that reached the model. */
export async function systemMessagesOf(agent: Agent): Promise<SystemMessage[]> {
  const model = scriptedModel(["Yes."]);
  const { text } = await agent.generate("Are you there?", { model });
  assert.equal(text, "Yes.");
  return model.calls[0]!.prompt.filter((message) => message.role === "system");
}

/** Every content was written in the block, and no two are the same. */
export function assertWrittenIn(block: Block, messages: SystemMessage[], count: number): void {
  assert.equal(messages.length, count);
  assert.equal(new Set(messages.map((message) => message.content)).size, count);
  for (const { content } of messages)
    assert.ok(block.code.includes(`'${content}'`), `not in the block: ${content}`);
}

/** A console and a stdout that remember what a block printed. */
export function printer() {
  const lines: unknown[][] = [];
  const written: string[] = [];
  return {
    lines,
    written,
    console: { log: (...values: unknown[]): void => void lines.push(values) },
    process: { stdout: { write: (text: string): boolean => written.push(text) > 0 } },
  };
}
