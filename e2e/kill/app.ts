import { randomUUID } from "node:crypto";
import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { Agent } from "@selvedge/core/agent";
import { Mastra, silentLogger } from "@selvedge/core";
import type { Commit, Storage } from "@selvedge/core/storage";
import { createTool } from "@selvedge/core/tools";
import { Memory } from "@selvedge/memory";
import { scriptedModel, type ScriptedReply } from "@selvedge/testing";
import { isPoint, type PointName } from "./kill-points.ts";
import { observedStorage } from "./observed-storage.ts";
import { type ChildConfig, errandOf } from "./protocol.ts";
import { openStore } from "./store-factory.ts";

/**
 * The app that gets killed: an agent on a store, with tools that leave a trace, and a model that does as it is told. As
 * real ones do, it answers differently when asked again: its calls have other ids each time.
 */
export async function openApp(
  config: ChildConfig,
): Promise<{ agent: Agent; mastra: Mastra; storage: Storage }> {
  let left = config.kill?.nth ?? 0;

  /** Dies at once, without a chance to do anything, if this is the place. */
  function maybeDie(name: PointName, when: "before" | "after"): void {
    if (config.kill?.name !== name || config.kill.when !== when || --left > 0) return;
    process.kill(process.pid, "SIGKILL");
  }

  const onCommit =
    (when: "before" | "after") =>
    (commits: readonly Commit[]): void => {
      const name = config.kill?.name;
      if (name !== undefined && commits.some(({ writes }) => isPoint(name, writes))) maybeDie(name, when);
    };

  async function run(toolCallId: string): Promise<{ did: string }> {
    maybeDie("tool", "before");
    appendFileSync(config.effects, `${toolCallId}\n`);
    await delay(5);
    maybeDie("tool", "after");
    return { did: toolCallId };
  }

  const tools = {
    plain: createTool({
      id: "plain",
      description: "Runs once.",
      execute: (_, { toolCallId }) => run(toolCallId),
    }),
    idempotent: createTool({
      id: "idempotent",
      description: "Runs.",
      idempotent: true,
      execute: (_, { toolCallId }) => run(toolCallId),
    }),
    approve: createTool({
      id: "approve",
      description: "Asks first.",
      requireApproval: true,
      execute: (_, { toolCallId }) => run(toolCallId),
    }),
  };

  const model = scriptedModel(async ({ prompt }): Promise<ScriptedReply> => {
    maybeDie("model", "before");
    checkPrompt(prompt);
    const answered = new Set(
      prompt
        .flatMap((message) => (message.role === "tool" ? message.content : []))
        .map((part) => "toolCallId" in part && errandOf(part.toolCallId)),
    );
    const asked = prompt
      .flatMap((message) => (message.role === "user" ? message.content : []))
      .flatMap((part) => (part.type === "text" && !part.text.startsWith("<notification") ? [part.text] : []));
    const calls = asked.flatMap((text) => {
      const [token, wanted] = text.split(" ");
      return (wanted === undefined || wanted === "-" ? [] : wanted.split(",")).map((toolName, index) => ({
        toolName,
        input: {},
        toolCallId: `${token}-${toolName}-${index}-${randomUUID().slice(0, 8)}`,
      }));
    });
    const open = calls.filter((call) => !answered.has(errandOf(call.toolCallId)));
    const { chunkDelayMs } = config;
    return open.length > 0
      ? { toolCalls: open, chunkDelayMs }
      : { text: ["Done ", "with ", `${asked.length}`, ` ${randomUUID()}.`], chunkDelayMs };
  });

  /** I9: who gets a prompt with a call and no result cannot go on. */
  function checkPrompt(prompt: readonly { role: string; content: unknown }[]): void {
    const parts = prompt.flatMap((message) =>
      Array.isArray(message.content) ? (message.content as { type: string; toolCallId?: string }[]) : [],
    );
    const ids = (type: string) => parts.filter((part) => part.type === type).map((part) => part.toolCallId!);
    const calls = ids("tool-call");
    const results = ids("tool-result");
    const fits =
      calls.length === new Set(calls).size && calls.toSorted().join() === results.toSorted().join();
    if (!fits) appendFileSync(config.effects, `! calls ${calls.join()} results ${results.join()}\n`);
  }

  const storage = observedStorage(await openStore(config.store), {
    beforeCommit: onCommit("before"),
    afterCommit: onCommit("after"),
  });
  const agent = new Agent({
    id: "agent",
    name: "Agent",
    instructions: "Do it.",
    model,
    tools,
    memory: new Memory({ storage }),
    defaultOptions: { maxSteps: 50 },
    notifications: { batchWindow: 200, deliveryPolicy: { sources: { later: "defer", notes: "persist" } } },
  });
  const mastra = new Mastra({
    agents: { agent },
    storage,
    logger: silentLogger,
    threads: { lease: config.lease },
    notifications: { dispatch: { enabled: config.dispatches ?? false, cron: "* * * * * *" } },
  });
  return { agent: agent as unknown as Agent, mastra: mastra as unknown as Mastra, storage };
}
