import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AgentControllerEvent, Session } from "@selvedge/core/agent-controller";
import { InMemoryStore } from "@selvedge/core/storage";
import { describe, expect, it, onTestFinished } from "vitest";
import { demoController } from "./demo-controller.ts";
import { demoModel } from "./demo-model.ts";

async function openSession(): Promise<{ session: Session; notesFile: string; events: string[] }> {
  const folder = await mkdtemp(join(tmpdir(), "selvedge-demo-"));
  const notesFile = join(folder, "notes.md");
  const choice = { model: demoModel({ wordDelayMs: 0 }), name: "demo", why: "", scripted: true } as const;
  const { controller } = await demoController({ choice, storage: new InMemoryStore(), notesFile });
  onTestFinished(async () => {
    await controller.destroy();
    await rm(folder, { recursive: true, force: true });
  });
  const session = await controller.createSession({ id: "s", ownerId: "o" });
  await session.model.switch({ modelId: "selvedge/demo-fast" });
  await session.mode.switch({ modeId: "plan" });
  await session.model.switch({ modelId: "selvedge/demo-fast" });
  const events: string[] = [];
  session.subscribe((event: AgentControllerEvent) => void events.push(event.type));
  return { session, notesFile, events };
}

const asked = (session: Session): unknown =>
  [...session.displayState.get().pendingSuspensions.values()][0]?.suspendPayload;

async function lastText(session: Session): Promise<string> {
  const messages = await session.thread.listActiveMessages();
  const texts = messages.at(-1)?.content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  return texts?.join(" ") ?? "";
}

describe("demoController", () => {
  it("asks, plans, and carries out the plan in build mode, with tasks, a subagent and a call that asks", async () => {
    const { session, notesFile, events } = await openSession();
    await session.sendMessage({ content: "plan a trip" });
    expect(asked(session)).toMatchObject({
      question: "Where should the trip go?",
      selectionMode: "single_select",
    });
    await session.respondToToolSuspension({ resumeData: "Kyoto" });
    await expect.poll(() => asked(session)).toMatchObject({ title: "5 days in Kyoto" });
    await session.respondToToolSuspension({ resumeData: { action: "rejected", feedback: "no trains" } });
    await expect
      .poll(() => asked(session))
      .toMatchObject({ plan: expect.stringContaining("As you asked: no trains") });
    expect(session.mode.get()).toBe("plan");
    await session.respondToToolSuspension({ resumeData: { action: "approved" } });
    await expect
      .poll(() => session.displayState.get().pendingApproval?.toolName, { timeout: 10_000 })
      .toBe("write-note");
    expect(session.mode.get()).toBe("build");
    expect(session.displayState.get().tasks.map(({ status }) => status)).toEqual([
      "completed",
      "completed",
      "in_progress",
    ]);
    await session.respondToToolApproval({ decision: "approve" });
    await expect.poll(() => lastText(session)).toContain("The trip to **Kyoto** is planned: 5 days, 1170 €");
    expect(await readFile(notesFile, "utf8")).toContain("5 days in Kyoto");
    expect(events).toContain("subagent_end");
    await session.sendMessage({ content: "plan another trip" });
    expect(asked(session)).toMatchObject({
      question: "Where should this one go?",
      options: [{ label: "Kyoto" }, { label: "Bergen" }, { label: "Lisbon" }],
    });
  });

  it("asks in three ways", async () => {
    const { session } = await openSession();
    for (const [kind, resumeData] of [
      [undefined, "a coat"],
      ["single_select", "Indigo"],
      ["multi_select", ["Indigo", "Madder red"]],
    ] as const) {
      await session.sendMessage({ content: "ask me something" });
      expect((asked(session) as { selectionMode?: string }).selectionMode).toBe(kind);
      await session.respondToToolSuspension({ resumeData: resumeData as string });
      await expect.poll(() => lastText(session)).toContain(`You answered: ${[resumeData].flat().join(", ")}`);
    }
  });

  it("counts without asking, and changes nothing in plan mode", async () => {
    const { session } = await openSession();
    await session.sendMessage({ content: "count to 1" });
    expect(await lastText(session)).toContain("1, and done.");
    await session.sendMessage({ content: "note that it rains" });
    expect(await lastText(session)).toContain("I do not have that tool");
    await session.mode.switch({ modeId: "build" });
    const sent = session.sendMessage({ content: "note that it rains" });
    await expect.poll(() => session.displayState.get().pendingApproval?.toolName).toBe("write-note");
    await session.respondToToolApproval({ decision: "decline" });
    await sent;
    expect(await lastText(session)).toContain("You declined");
  });
});
