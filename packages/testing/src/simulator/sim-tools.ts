import { createNotificationInboxTool } from "@selvedge/core/notifications";
import type { Storage } from "@selvedge/core/storage";
import { createTool, type ToolsInput } from "@selvedge/core/tools";
import type { Ledger } from "./ledger.ts";
import type { PlantedFault } from "./planted-faults.ts";
import type { SimProcess } from "./sim-process.ts";

export const TOOL_NAMES = [
  "plain",
  "idempotent",
  "fails",
  "odd",
  "approve",
  "ask",
  "missing",
  "inbox",
] as const;

/** Tools of every kind. Each execution is an effect on the world outside, and counted there. */
export function simTools(
  process: SimProcess,
  ledger: Ledger,
  storage: Storage,
  planted: PlantedFault | undefined,
): ToolsInput {
  const { random } = process.world;
  const work = async (): Promise<void> => {
    const ms = random.chance(0.1) ? random.between(500, 20_000) : random.between(0, 15);
    process.toolsAtWork++;
    await process.work("tool works", ms);
    process.toolsAtWork--;
  };
  const effect = (toolName: string, toolCallId: string, resumed = false) => {
    process.world.note(
      () => `${process.name} runs tool ${toolName} ${toolCallId}${resumed ? " again with an answer" : ""}`,
    );
    ledger.effect(toolName, toolCallId, resumed);
  };
  return {
    plain: createTool({
      id: "plain",
      description: "May run once.",
      ...(planted?.tools?.plainIsIdempotent && { idempotent: true }),
      async execute(_, { toolCallId }) {
        effect("plain", toolCallId);
        await work();
        return { did: toolCallId };
      },
    }),
    idempotent: createTool({
      id: "idempotent",
      description: "May run again.",
      idempotent: true,
      async execute(_, { toolCallId }) {
        effect("idempotent", toolCallId);
        await work();
        return { did: toolCallId };
      },
    }),
    fails: createTool({
      id: "fails",
      description: "Fails.",
      async execute(_, { toolCallId }) {
        effect("fails", toolCallId);
        await work();
        throw new Error("The tool failed.");
      },
    }),
    odd: createTool({
      id: "odd",
      description: "Returns, throws and writes what is not JSON.",
      async execute(_, { toolCallId, writer }) {
        effect("odd", toolCallId);
        await work();
        const value = oddValue(random.between(0, 4));
        if (random.chance(0.3)) await writer?.write(value);
        if (random.chance(0.5)) throw value;
        return value;
      },
    }),
    approve: createTool({
      id: "approve",
      description: "Runs when somebody said yes.",
      requireApproval: !planted?.tools?.approvalIsSkipped,
      async execute(_, { toolCallId }) {
        effect("approve", toolCallId);
        await work();
        return { did: toolCallId };
      },
    }),
    ask: createTool({
      id: "ask",
      description: "Asks somebody in the middle.",
      async execute(_, { toolCallId, resumeData, suspend }) {
        effect("ask", toolCallId, resumeData !== undefined);
        await work();
        if (resumeData === undefined) return suspend({ question: toolCallId });
        return { answered: toolCallId };
      },
    }),
    inbox: createTool({
      id: "inbox",
      description: "Reads the inbox.",
      idempotent: true,
      async execute({ threadId, resourceId, runId }, { toolCallId }) {
        effect("inbox", toolCallId);
        const place = { threadId: threadId!, resourceId: resourceId!, runId: runId! };
        return (await inboxTool(storage)).execute({ context: { action: "read" }, ...place });
      },
    }),
  };
}

/** Values that apps and providers really hand over, and that no store can hold as they are. */
export function oddValue(kind: number): unknown {
  const circle: { self?: unknown } = {};
  circle.self = circle;
  const thrower = {
    get boom(): never {
      throw new Error("A getter that throws.");
    },
  };
  return [10n, circle, thrower, { at: new Date(Number.NaN), by: Symbol("s"), n: Number.NaN }, undefined][
    kind
  ];
}

/** The real tool for the inboxes of a store. */
export async function inboxTool(storage: Storage): Promise<ReturnType<typeof createNotificationInboxTool>> {
  return createNotificationInboxTool({ storage: await storage.getStore("notifications") });
}
