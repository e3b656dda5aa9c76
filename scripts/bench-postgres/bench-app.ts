import { Mastra, silentLogger } from "@selvedge/core";
import { Agent } from "@selvedge/core/agent";
import type { Storage } from "@selvedge/core/storage";
import { createTool } from "@selvedge/core/tools";
import { Memory } from "@selvedge/memory";
import { type ScriptedModel, scriptedModel, type ScriptedReply } from "@selvedge/testing";
import { observedStorage } from "../../e2e/kill/observed-storage.ts";

/** For takeovers that are worth waiting for. */
export const LEASE = { leaseMs: 2_000, renewMs: 500 };

/** An agent on a store whose operations are counted. A reply with the text `time` says when it was sent. */
export function openApp(
  store: Storage,
  script: (steps: number) => ScriptedReply | string,
  threads: { lease?: typeof LEASE } = {},
) {
  const counts = { commits: 0, transactions: 0, reads: 0 };
  const storage = observedStorage(store, {
    select: () => void counts.reads++,
    beforeCommit: (commits) => {
      counts.commits += commits.length;
      counts.transactions++;
    },
    afterCommit: () => {},
  });
  const step = createTool({ id: "step", description: "One step.", execute: async () => ({ ok: true }) });
  const model = scriptedModel(({ prompt }) => {
    const lastUser = prompt.findLastIndex(({ role }) => role === "user");
    return script(prompt.slice(lastUser).filter(({ role }) => role === "tool").length);
  });
  const agent = new Agent({
    id: "agent",
    name: "agent",
    instructions: "Answer.",
    model: timed(model),
    tools: { step },
    memory: new Memory({ storage }),
    defaultOptions: { maxSteps: 20 },
  });
  const mastra = new Mastra({ agents: { agent }, storage, logger: silentLogger, threads });
  return { agent, mastra, counts };
}

export function sentNow(): string {
  return String(performance.timeOrigin + performance.now());
}

function timed(model: ScriptedModel): ScriptedModel {
  const doStream = model.doStream.bind(model);
  model.doStream = async (options) => {
    const result = await doStream(options);
    const stream = result.stream.pipeThrough(
      new TransformStream({
        transform(part, controller) {
          const isTime = part.type === "text-delta" && part.delta === "time";
          controller.enqueue(isTime ? { ...part, delta: `${sentNow()} ` } : part);
        },
      }),
    );
    return { ...result, stream };
  };
  return model;
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
