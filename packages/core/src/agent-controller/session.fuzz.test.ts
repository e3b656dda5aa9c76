import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AgentError } from "../errors.ts";
import { AgentController } from "./agent-controller.ts";
import { controllerWith } from "./__fixtures__/controller-with.ts";

const odd = fc.oneof(
  fc.anything({ maxDepth: 2 }),
  fc.record(
    {
      id: fc.anything({ maxDepth: 1 }),
      threadId: fc.anything({ maxDepth: 1 }),
      modeId: fc.anything({ maxDepth: 1 }),
      modelId: fc.anything({ maxDepth: 1 }),
      content: fc.anything({ maxDepth: 1 }),
      decision: fc.constantFrom("approve", "decline", "x", 1),
      toolCallId: fc.anything({ maxDepth: 1 }),
      toolName: fc.anything({ maxDepth: 1 }),
      policy: fc.constantFrom("allow", "x", 1),
      category: fc.constantFrom("edit", "x", 1),
      resumeData: fc.anything({ maxDepth: 1 }),
      files: fc.anything({ maxDepth: 2 }),
      key: fc.anything({ maxDepth: 1 }),
      ownerId: fc.constantFrom("o", 1),
    },
    { requiredKeys: [] },
  ),
);

describe("whatever a session is given", () => {
  it("is refused with a code, or does what it says", async () => {
    const { controller } = controllerWith(() => "Fine.");
    const session = await controller.createSession({ id: "s", ownerId: "o" });
    const entries: Record<string, (value: never) => unknown> = {
      sendMessage: (value) => session.sendMessage(value),
      steer: (value) => session.steer(value),
      followUp: (value) => session.followUp(value),
      approval: (value) => session.respondToToolApproval(value),
      suspension: (value) => session.respondToToolSuspension(value),
      mode: (value) => session.mode.switch(value),
      model: (value) => session.model.switch(value),
      category: (value) => session.permissions.setForCategory(value),
      tool: (value) => session.permissions.setForTool(value),
      grantCategory: (value) => session.grantCategory(value),
      grantTool: (value) => session.grantTool(value),
      state: (value) => session.state.set(value),
      switch: (value) => session.thread.switch(value),
      create: (value) => session.thread.create(value),
      rename: (value) => session.thread.rename(value),
      delete: (value) => session.thread.delete(value),
      messages: (value) => session.thread.listMessages(value),
      setting: (value) => session.thread.setSetting(value),
      edit: (value) => session.followUps.edit(value),
      remove: (value) => session.followUps.remove(value),
      steerQueued: (value) => session.followUps.steer(value),
      om: (value) => session.om.observer.switchModel(value),
      subagents: (value) => session.subagents.model.set(value),
      createSession: (value) => controller.createSession(value),
      deleteSession: (value) => controller.deleteSession(value),
      heartbeat: (value) => controller.registerHeartbeat(value),
      toolCategory: (value) => controller.getToolCategory(value),
      construct: (value) => new AgentController(value),
    };
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...Object.keys(entries)), odd, async (name, value) => {
        try {
          await entries[name]!(value as never);
        } catch (error) {
          expect(AgentError.is(error), `${name}: ${String(error)}`).toBe(true);
          expect(["internal", "storage-failed"], name).not.toContain((error as AgentError).code);
        }
      }),
      { numRuns: 1500 },
    );
    await controller.destroy();
  });
});
