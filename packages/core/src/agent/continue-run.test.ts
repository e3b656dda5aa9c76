import { describe, expect, it } from "vitest";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import { MAILBOX, RUNS } from "../storage/thread-tables.ts";
import { gate, HERE, ON, onThread } from "./__fixtures__/on-thread.ts";

const clientTools = { where: { description: "Where?", parameters: { type: "object", properties: {} } } };
const CALL = { toolCalls: [{ toolName: "where", input: { exact: true }, toolCallId: "call-1" }] };
const result = (toolCallId = "call-1", value = "Oslo") => [
  {
    role: "tool",
    content: [{ type: "tool-result", toolCallId, toolName: "where", output: { type: "text", value } }],
  },
];
const answer = { ...HERE, toolCallId: "call-1", approved: true } as const;
const refusal = (code: string) => expect.objectContaining({ name: "AgentError", code });

describe("results of a client's tools", () => {
  it("go to the call they answer, and a run on the thread goes on with them", async () => {
    const { agent, model, follow, idle, history } = onThread([CALL, "Sunny in Oslo."]);
    const first = await agent.generate("Weather?", { ...ON, clientTools });
    expect(first.finishReason).toBe("tool-calls");
    const reader = await follow();
    const sent = await agent.sendToolApproval({
      ...answer,
      messages: result(),
      streamOptions: { clientTools },
    });
    expect(sent).toEqual({ accepted: true, runId: expect.any(String), toolCallId: "call-1" });
    await reader.until("finish");
    await idle();
    expect(reader.types).not.toContain("data-user-message");
    expect(new Set(reader.chunks.map((chunk) => chunk.runId))).toEqual(new Set([sent.runId]));
    expect(await history()).toEqual([
      "user: Weather?",
      "assistant: [where result]",
      "assistant: Sunny in Oslo.",
    ]);
    expect(model.calls[1]!.prompt.filter((message) => message.role === "tool")).toMatchObject([
      { content: [{ toolCallId: "call-1", output: { type: "text", value: "Oslo" } }] },
    ]);
    expect(model.calls[1]!.tools).toMatchObject([{ name: "where" }]);
    reader.stop();
  });

  it("sent again are the same, and answer nothing twice", async () => {
    const { agent, model, idle } = onThread([CALL, "Sunny."]);
    await agent.generate("Weather?", { ...ON, clientTools });
    const send = () => agent.sendToolApproval({ ...answer, messages: result() });
    const [one, two] = await Promise.all([send(), send()]);
    await idle();
    const three = await send();
    expect([two.runId, three.runId]).toEqual([one.runId, one.runId]);
    expect(model.calls).toHaveLength(2);
  });

  it("come before queued messages", async () => {
    const began = gate();
    const release = gate();
    const { agent, asked, idle, storage } = onThread(async ({ index }) => {
      if (index === 0) return CALL;
      if (index === 1) {
        began.open();
        await release.opened;
      }
      return `answer ${index}`;
    });
    await agent.generate("Weather?", { ...ON, clientTools });
    const busy = agent.generate("Busy?", ON);
    await began.opened;
    await agent.queueMessage("And then?", HERE).admitted;
    await agent.sendToolApproval({ ...answer, messages: result() });
    expect(await storage.count({ table: MAILBOX })).toBe(2);
    release.open();
    await busy;
    await idle();
    expect(asked(2).at(-1)).not.toContain("And then?");
    expect(asked(3).at(-1)).toContain("And then?");
  });

  it("are kept when the process dies before their run begins", async () => {
    const storage = new InMemoryStorage();
    const before = onThread([CALL], { storage });
    await before.agent.generate("Weather?", { ...ON, clientTools });
    // Nobody here can carry the run out: its model cannot even be made.
    const dead = onThread([], {
      storage,
      model: () => new Promise<never>(() => {}),
    });
    await dead.agent.sendToolApproval({ ...answer, messages: result() });
    expect(await storage.count({ table: MAILBOX })).toBe(1);
    expect((await storage.select({ table: MAILBOX }))[0]).toMatchObject({
      options: { messages: [{ content: { parts: [{ toolInvocation: { result: "Oslo" } }] } }] },
    });
  });

  it("are refused where they answer nothing, and nothing is stored", async () => {
    const { agent, storage, idle } = onThread([CALL, "Sunny."]);
    await agent.generate("Weather?", { ...ON, clientTools });
    const refused: [object, string][] = [
      [{ ...answer, approved: false, messages: result() }, "invalid-argument"],
      [{ ...answer, messages: [] }, "invalid-argument"],
      [{ ...answer, messages: "Oslo" }, "invalid-argument"],
      [{ ...answer, messages: 7 }, "invalid-message"],
      [{ ...answer, toolCallId: "call-9", messages: result() }, "invalid-argument"],
      [{ ...answer, toolCallId: "call-9", messages: result("call-9") }, "not-found"],
      [{ ...answer, threadId: "t2", messages: result() }, "not-found"],
      [{ ...answer, resourceId: "r2", messages: result() }, "not-found"],
      [{ ...answer, messages: result("call-1", "x".repeat(1 << 20)) }, "limit-exceeded"],
      [{ ...answer, messages: result(), streamOptions: { maxSteps: 0 } }, "invalid-argument"],
    ];
    for (const [options, code] of refused)
      await expect(agent.sendToolApproval(options as never)).rejects.toEqual(refusal(code));
    expect(await storage.count({ table: MAILBOX })).toBe(0);
    expect(await storage.count({ table: RUNS, where: { thread_id: "t1" } })).toBe(1);
    await agent.sendToolApproval({ ...answer, messages: result() });
    await idle();
  });
});
