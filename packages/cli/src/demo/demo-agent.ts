import { dirname, join } from "node:path";
import { Agent } from "@selvedge/core/agent";
import { createNotificationInboxTool } from "@selvedge/core/notifications";
import type { Storage } from "@selvedge/core/storage";
import type { Workspace } from "@selvedge/core/workspace";
import { Memory } from "@selvedge/memory";
import type { ModelChoice } from "../choose-model.ts";
import { demoObserver } from "./demo-observer.ts";
import { calculator, createWriteNote, currentTime, wait } from "./demo-tools.ts";
import { demoWorkspace } from "./demo-workspace.ts";
import { notesLane } from "./notes-lane.ts";

export interface DemoAgentOptions {
  choice: ModelChoice;
  storage: Storage;
  notesFile: string;
  /** How long the scripted observer takes. */
  observesMs?: number;
}

const INSTRUCTIONS = `You are a helpful assistant. Answer briefly, in Markdown.
Use the tools when they help: they know the time, calculate exactly, keep notes and list your notifications.`;

/** The agent of a newcomer: one of everything that a thread can carry. */
export async function createDemoAgent({
  choice,
  storage,
  notesFile,
  observesMs,
}: DemoAgentOptions): Promise<{ agent: Agent; memory: Memory; workspace: Workspace }> {
  const scripted = choice.scripted === true;
  const memory = new Memory({
    storage,
    options: {
      lastMessages: 12,
      threads: { generateTitle: true },
      // Low, so that a newcomer sees messages become notes after a few turns.
      observationalMemory: {
        model: scripted ? demoObserver(observesMs) : choice.model,
        observation: { messageTokens: scripted ? 800 : 4_000, blockAfter: 5 },
        reflection: { observationTokens: scripted ? 500 : 4_000 },
      },
    },
  });
  const inbox = createNotificationInboxTool({ storage: await storage.getStore("notifications") });
  const workspace = await demoWorkspace(join(dirname(notesFile), "workspace"));
  const writeNote = createWriteNote(notesFile);
  const agent = new Agent({
    id: "assistant",
    name: "Assistant",
    description: scripted
      ? "A scripted demo model with real tools: it shows what a thread can do without a key."
      : "A helpful assistant with a few tools.",
    instructions: INSTRUCTIONS,
    model: choice.model,
    tools: {
      [currentTime.id]: currentTime,
      [calculator.id]: calculator,
      [wait.id]: wait,
      [writeNote.id]: writeNote,
      [inbox.id]: inbox,
    },
    memory,
    workspace,
    // A count has a step for every number.
    defaultOptions: { maxSteps: 64 },
    inputProcessors: [notesLane(notesFile)],
    notifications: { batchWindow: 10_000 },
  });
  return { agent, memory, workspace };
}
