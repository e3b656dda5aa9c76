import { assemble, MESSAGES, OM_RECORDS } from "@selvedge/core/storage";
import type { ScriptedCall } from "@selvedge/testing";
import { currentRun } from "../../packages/core/src/run/current-run.ts";
import { ACTORS } from "../../packages/core/src/storage/thread-tables.ts";
import type { SimProcess } from "../../packages/testing/src/simulator/sim-process.ts";
import type { OmStage } from "./simulate-om.ts";

/** The last prompt of each thread, and the state of the log that it was made with. */
export class OmPrompts {
  readonly last: Map<string, { key: string; prompt: string[] }> = new Map();
}

/** What must hold of each prompt: nothing is missing that no notes stand for, and it only grows between activations. */
export async function checkOmPrompt(
  { world, shared, scope, prompts }: Pick<OmStage, "world" | "shared" | "scope" | "prompts">,
  process: SimProcess,
  prompt: ScriptedCall["prompt"],
): Promise<void> {
  const all = prompt.map((message) => JSON.stringify(message));
  const text = all.join("\n");
  const threadId = /thread=(t\d)(?!.*thread=t)/s.exec(text)?.[1];
  if (threadId === undefined) return;
  world.note(
    () =>
      `${process.name} PROMPT ${threadId}: ${all.map((one) => (/[ma]-\d+;/.exec(one) ?? [one.slice(0, 30)])[0]).join(" | ")}`,
  );
  const key = scope === "thread" ? threadId : "\tresource r1";
  const [[actor], records, rows] = await shared.selectAll([
    { table: ACTORS, where: { thread_id: threadId } },
    { table: OM_RECORDS, where: { thread_id: key } },
    { table: MESSAGES, where: { thread_id: threadId }, orderBy: [{ column: "seq" }] },
  ]);
  // A run that has lost the thread and does not know it yet: nothing that it does counts.
  if (actor?.owner !== process.name || actor.run_id !== currentRun()?.spec.runId) return;
  const record = records.find(({ source }) => source === "");
  const part = records.find(({ source }) => source === (scope === "thread" ? "" : threadId));
  const begin = Math.max(part?.cursor_seq ?? 0, part?.shown_seq ?? 0);
  const messages = await assemble(shared, rows);
  for (const [index, message] of messages.entries()) {
    if (rows[index]!.seq <= begin || message.content.metadata?.["incomplete"]) continue;
    for (const mark of JSON.stringify(message.content.parts).match(/[ma]-\d+;/g) ?? [])
      if (!text.includes(mark))
        world.violate("prompt", `${mark} of ${threadId} has no notes and is not shown`);
  }
  const omitted = part?.omitted_count ?? 0;
  const line = Number(/(\d+) older messages? (?:is|are) not shown/.exec(text)?.[1] ?? 0);
  if (line !== omitted)
    world.violate("prompt", `${omitted} messages are left out, and the prompt says ${line}`);
  if (omitted > 0) world.reached.add("messages were left out");
  const calls = new Set<string>(text.match(/"toolCallId":"[^"]+"/g) ?? []);
  for (const call of calls) {
    const found = text.split(call).length - 1;
    if (found !== 2)
      world.violate("prompt", `call ${call} is in the prompt ${found} times, not with one result`);
  }
  if (scope !== "thread") return;
  const state = `${record?.version ?? 0} ${part?.shown_seq ?? 0}`;
  const before = prompts.last.get(threadId);
  if (before?.key === state) {
    const at = before.prompt.findIndex((one, index) => one !== all[index]);
    if (at >= 0)
      world.violate(
        "prefix",
        `message ${at} of the prompt of ${threadId} changed without an activation: ${before.prompt[at]} became ${all[at]}`,
      );
  } else if (before) world.reached.add("the log changed between two prompts");
  prompts.last.set(threadId, { key: state, prompt: all });
}
