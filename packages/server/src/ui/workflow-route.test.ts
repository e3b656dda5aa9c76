import { DefaultChatTransport, readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { Agent, Mastra, silentLogger } from "@selvedge/core";
import { InMemoryStorage } from "@selvedge/core/storage";
import { createStep, createWorkflow } from "@selvedge/core/workflows";
import { scriptedModel } from "@selvedge/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { refundWorkflow } from "../__fixtures__/refund-workflow.ts";
import { byHeader } from "../__fixtures__/served.ts";
import { createServer, type Server } from "../server.ts";
import { handleWorkflowStream } from "./handle-workflow-stream.ts";
import { workflowRoute } from "./workflow-route.ts";
import type { WorkflowPart } from "./workflow-ui.ts";

function world(
  options: Parameters<typeof workflowRoute>[0] = { path: "/refund", workflow: "refund" },
): Mastra {
  return new Mastra({
    workflows: { refund: refundWorkflow() },
    storage: new InMemoryStorage(),
    logger: silentLogger,
    server: { apiRoutes: [workflowRoute(options)] },
  });
}

/** The stream as the AI SDK's own transport reads it, which checks every part. */
function send(
  server: Server,
  path: string,
  body: object,
  as?: string,
): Promise<ReadableStream<UIMessageChunk>> {
  const transport = new DefaultChatTransport<UIMessage>({
    api: `http://localhost${path}`,
    headers: as === undefined ? {} : { "x-user": as },
    fetch: (input, init) => server.fetch(new Request(input as string, init)),
    prepareSendMessagesRequest: () => ({ body }),
  });
  return transport.sendMessages({
    chatId: "c",
    messages: [],
    trigger: "submit-message",
    messageId: undefined,
    abortSignal: undefined,
  });
}

async function lastMessage(stream: ReadableStream<UIMessageChunk>): Promise<UIMessage> {
  let last: UIMessage | undefined;
  for await (const message of readUIMessageStream({ stream })) last = message;
  return last as UIMessage;
}

function workflowOf({ parts }: UIMessage): { id: string; data: WorkflowPart } {
  const found = parts.filter(({ type }) => type === "data-workflow");
  expect(found).toHaveLength(1);
  return found[0] as unknown as { id: string; data: WorkflowPart };
}

describe("workflowRoute", () => {
  test("streams a run as one part that is replaced, and resumes it", async () => {
    const server = createServer({ mastra: world() });
    const first = workflowOf(
      await lastMessage(await send(server, "/refund", { inputData: { order: "o-1" } })),
    );
    expect(first.data).toMatchObject({
      name: "refund",
      status: "suspended",
      steps: {
        find: { name: "find", status: "success", input: { order: "o-1" } },
        approve: { name: "approve", status: "suspended", suspendPayload: { amount: 40 } },
      },
    });
    const body = { runId: first.id, step: "approve", resumeData: { approved: true } };
    const second = workflowOf(await lastMessage(await send(server, "/refund", body)));
    expect(second).toMatchObject({
      id: first.id,
      data: {
        status: "success",
        // Steps of the first execution are there, too.
        steps: { find: { status: "success" }, approve: { status: "success", output: { approved: true } } },
      },
    });
  });

  test("serves every workflow at its default path", async () => {
    const server = createServer({ mastra: world({}) });
    const message = await lastMessage(
      await send(server, "/api/workflows/refund/stream", { inputData: { order: "o-1" } }),
    );
    expect(workflowOf(message).data.status).toBe("suspended");
  });

  test("does not resume another caller's run", async () => {
    const server = createServer({ mastra: world(), authorize: byHeader });
    const stream = await send(server, "/refund", { inputData: { order: "o-1" } }, "ann");
    const { id } = workflowOf(await lastMessage(stream));
    const body = { runId: id, step: "approve", resumeData: { approved: true } };
    await expect(send(server, "/refund", body, "bob")).rejects.toThrow(/There is no run/);
    await expect(send(server, "/refund", body)).rejects.toThrow(/authenticate/);
    const forged = { inputData: { order: "o-1" }, requestContext: { tier: "gold" } };
    await expect(send(server, "/refund", forged, "ann")).rejects.toThrow(/run-options/);
    expect(workflowOf(await lastMessage(await send(server, "/refund", body, "ann"))).data.status).toBe(
      "success",
    );
  });

  test("counts as a stream and as a run of its caller", async () => {
    const limits = { streamsPerResource: 1 };
    const server = createServer({ mastra: world(), authorize: byHeader, limits });
    const open = await send(server, "/refund", { inputData: { order: "o-1" } }, "ann");
    expect(server.streamCount).toBe(1);
    await expect(send(server, "/refund", { inputData: { order: "o-1" } }, "ann")).rejects.toThrow(
      /live streams/,
    );
    await open.cancel();
    await expect.poll(() => server.streamCount).toBe(0);
    const busy = createServer({ mastra: world(), authorize: byHeader, limits: { runsPerResource: 0 } });
    await expect(send(busy, "/refund", { inputData: { order: "o-1" } }, "ann")).rejects.toThrow(
      /active runs/,
    );
  });

  test("starts one run for a request that is repeated under a key", async () => {
    const mastra = world();
    const server = createServer({ mastra });
    const body = { inputData: { order: "o-1" }, idempotencyKey: "k" };
    const ids = await Promise.all(
      [1, 2].map(async () => workflowOf(await lastMessage(await send(server, "/refund", body))).id),
    );
    expect(new Set(ids).size).toBe(1);
  });

  test("has the text of an agent that a step pipes to its writer", async () => {
    const agent = new Agent({
      id: "poet",
      name: "poet",
      instructions: "",
      model: scriptedModel(() => "A hem of light."),
    });
    const write = createStep({
      id: "write",
      inputSchema: z.object({ topic: z.string() }),
      outputSchema: z.object({ done: z.boolean() }),
      execute: async ({ inputData, writer }) => {
        const stream = await agent.stream(inputData.topic);
        await stream.fullStream.pipeTo(writer);
        return { done: true };
      },
    });
    const poem = createWorkflow({
      id: "poem",
      inputSchema: z.object({ topic: z.string() }),
      outputSchema: z.object({ done: z.boolean() }),
    })
      .then(write)
      .commit();
    const mastra = new Mastra({
      agents: { agent },
      workflows: { poem },
      storage: new InMemoryStorage(),
      logger: silentLogger,
      server: { apiRoutes: [workflowRoute({ path: "/poem", workflow: "poem" })] },
    });
    const server = createServer({ mastra });
    const message = await lastMessage(await send(server, "/poem", { inputData: { topic: "dusk" } }));
    const text = message.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
    expect(text).toBe("A hem of light.");
    expect(workflowOf(message).data).toMatchObject({
      status: "success",
      steps: { write: { output: { done: true } } },
    });
    expect(workflowOf(message).data.output?.usage.totalTokens).toBeGreaterThan(0);
  });

  test("must know its workflow", () => {
    expect(() => workflowRoute({ path: "/refund" })).toThrow(/:workflowId/);
    expect(() => workflowRoute({ path: "refund", workflow: "refund" })).toThrow(/start with "\/"/);
  });
});

describe("handleWorkflowStream", () => {
  test("gives the parts to a server of the app", async () => {
    const mastra = world();
    const params = { inputData: { order: "o-1" }, resourceId: "ann" };
    const parts = await Array.fromAsync(await handleWorkflowStream({ mastra, workflowId: "refund", params }));
    expect(parts[0]?.type).toBe("start");
    expect(parts.at(-1)?.type).toBe("finish");
    expect(parts.at(-2)).toMatchObject({ type: "data-workflow", data: { status: "suspended" } });
  });

  test("refuses a workflow that is not there, and input that is not valid", async () => {
    const mastra = world();
    await expect(handleWorkflowStream({ mastra, workflowId: "none", params: {} })).rejects.toThrow(
      /no workflow/,
    );
    const params = { inputData: { order: 7 } };
    await expect(handleWorkflowStream({ mastra, workflowId: "refund", params })).rejects.toMatchObject({
      code: "invalid-argument",
    });
  });
});

test("hides the errors of an agent's tools from callers who may not inspect", async () => {
  const any = { inputSchema: z.any(), outputSchema: z.any() };
  const step = createStep({
    id: "ask",
    ...any,
    execute: async ({ writer, runId }) => {
      const tool = { toolCallId: "c", toolName: "find", args: {} };
      const chunk = { runId, from: "AGENT" };
      await writer.write({ ...chunk, type: "tool-call", payload: tool });
      const error = new Error("no order at postgres://user:secret@host");
      await writer.write({ ...chunk, type: "tool-error", payload: { ...tool, error } });
      return 1;
    },
  });
  const mastra = new Mastra({
    workflows: {
      ask: createWorkflow({ id: "ask", ...any })
        .then(step)
        .commit(),
    },
    storage: new InMemoryStorage(),
    logger: silentLogger,
    server: { apiRoutes: [workflowRoute({ path: "/ask", workflow: "ask" })] },
  });
  const server = createServer({ mastra, authorize: byHeader });
  const parts = await Array.fromAsync(await send(server, "/ask", { inputData: 1 }, "ann"));
  expect(parts).toContainEqual(expect.objectContaining({ type: "tool-output-error" }));
  expect(JSON.stringify(parts)).not.toContain("secret");
});
