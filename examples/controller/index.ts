import assert from "node:assert/strict";
import { Agent } from "@selvedge/core/agent";
import { AgentController, type AgentControllerEvent } from "@selvedge/core/agent-controller";
import { InMemoryStore } from "@selvedge/core/storage";
import { createTool } from "@selvedge/core/tools";
import { scriptedModel } from "@selvedge/testing";
import { z } from "zod";

const written: string[] = [];
const writeFile = createTool({
  id: "write_file",
  description: "Writes a file.",
  inputSchema: z.object({ path: z.string() }),
  execute: async ({ context }) => ({ written: written.push(context.path) }),
});
const model = scriptedModel([
  { toolCalls: [{ toolName: "submit_plan", input: { plan: "1. Write the notes." } }] },
  { toolCalls: [{ toolName: "write_file", input: { path: "notes/today.md" } }] },
  { toolCalls: [{ toolName: "write_file", input: { path: "index.md" } }] },
  "The notes are written.",
]);
const storage = new InMemoryStore();

// One agent in two modes. An approved plan of the first continues in the second.
const controller = new AgentController({
  id: "notes",
  storage,
  agent: new Agent({ name: "writer", instructions: "Keep notes.", model }),
  modes: [
    { id: "plan", instructions: "Plan before you write.", transitionsTo: "write" },
    { id: "write", instructions: "Carry out the plan.", additionalTools: { write_file: writeFile } },
  ],
  toolCategoryResolver: (toolName) => (toolName === "write_file" ? "edit" : null),
});

// The same id opens the same session, in any process that uses this store.
const session = await controller.createSession({ id: "desk-1", ownerId: "ada" });
await session.permissions.setForTool({ toolName: "write_file(notes/*)", policy: "allow" });

const questions: string[] = [];
session.subscribe((event: AgentControllerEvent) => {
  if (event.type === "tool_approval_required") {
    // `reason` names the rule that asks.
    questions.push(`${event.toolName}: ${event.reason}`);
    void session.respondToToolApproval({ decision: "approve", toolCallId: event.toolCallId });
  }
});

// The run ends when it waits for an answer: here, to its plan.
await session.sendMessage({ content: "Write down what we did today." });
assert.equal(session.mode.get(), "plan");
const [plan] = session.displayState.get().pendingSuspensions.values();
assert.deepEqual(plan?.suspendPayload, { title: "Plan", plan: "1. Write the notes." });

// Approving the plan, the session's new mode and the run's new mode are stored together.
const finished = new Promise<void>((resolve) => {
  session.subscribe((event) => void (event.type === "agent_end" && resolve()));
});
await session.respondToToolSuspension({ resumeData: { action: "approved" } });
await finished;
assert.equal(session.mode.get(), "write");

// The rule allowed the first file. The second one needed permission.
assert.deepEqual(written, ["notes/today.md", "index.md"]);
assert.deepEqual(questions, ['write_file: no rule for "write_file"']);
console.log(session.getTokenUsage().totalTokens, "tokens");
await controller.destroy();
