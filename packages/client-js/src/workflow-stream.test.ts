import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { NumberedWorkflowChunk } from "@selvedge/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { AgentError, MastraClient } from "./index.ts";

/* The client against a server that breaks connections wherever the test says. Real runs: workflows.process.test.ts */

const open: Server[] = [];
afterEach(() => {
  for (const server of open.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

interface Request {
  path: string;
  body: { after?: number; follow?: boolean };
  key: string | undefined;
}

type Answer = (request: Request, response: ServerResponse) => void;

async function serve(answer: Answer): Promise<{ client: MastraClient; requests: Request[] }> {
  const requests: Request[] = [];
  const server = createServer(async (incoming: IncomingMessage, response) => {
    let text = "";
    for await (const piece of incoming) text += String(piece);
    const request = {
      path: incoming.url ?? "",
      body: JSON.parse(text || "{}") as Request["body"],
      key: incoming.headers["idempotency-key"] as string | undefined,
    };
    requests.push(request);
    answer(request, response);
  });
  open.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { client: new MastraClient({ baseUrl: `http://127.0.0.1:${port}`, backoffMs: 1 }), requests };
}

const usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };

/** A log of `length` events that ends as `status`. */
function logOf(length: number, status: "success" | "suspended" = "success"): NumberedWorkflowChunk[] {
  const base = { runId: "r1", from: "WORKFLOW" } as const;
  const middle = Array.from({ length: length - 2 }, (_, index) => ({
    ...base,
    type: "data-n" as const,
    data: index,
    seq: index + 2,
  }));
  return [
    { ...base, type: "workflow-start", payload: { workflowId: "w" }, seq: 1 },
    ...middle,
    {
      ...base,
      type: "workflow-finish",
      payload: { workflowStatus: status, output: { usage }, metadata: {} },
      seq: length,
    },
  ];
}

function frames(response: ServerResponse, chunks: readonly NumberedWorkflowChunk[], after: number): void {
  response.writeHead(200, { "content-type": "text/event-stream", "x-after": String(after) });
  response.write(`: connected\n\nid: ${after}\n\n`);
  for (const chunk of chunks) response.write(`id: ${chunk.seq}\ndata: ${JSON.stringify(chunk)}\n\n`);
}

const numbers = (chunks: readonly NumberedWorkflowChunk[]) => chunks.map(({ seq }) => seq);

describe("the stream of a workflow run", () => {
  it("has every event once and in order, wherever the connection breaks", async () => {
    const log = logOf(9);
    const { client, requests } = await serve(({ body: { after = 0 } }, response) => {
      const next = log.slice(after, after + 2);
      frames(response, next, after);
      if (next.at(-1)?.type === "workflow-finish") response.end();
      // What was written arrives before the reset.
      else setTimeout(() => response.destroy(), 20);
    });
    const stream = await client
      .getWorkflow("w")
      .getRun("r1")
      .stream({ inputData: { n: 1 } });
    const read: NumberedWorkflowChunk[] = [];
    await stream.processDataStream({ reconnect: { delayMs: 1 }, onChunk: (chunk) => read.push(chunk) });
    expect(numbers(read)).toEqual(numbers(log));
    expect(requests[0]?.path).toBe("/api/workflows/w/stream?runId=r1");
    expect(requests.slice(1).map(({ path }) => path)).toEqual(
      Array.from({ length: requests.length - 1 }, () => "/api/workflows/w/observe?runId=r1"),
    );
  });

  it("ends where a run waits, and goes on from there later", async () => {
    const log = [...logOf(3, "suspended"), ...logOf(4).map((chunk) => ({ ...chunk, seq: chunk.seq + 3 }))];
    const { client } = await serve(({ path, body: { after = 0 } }, response) => {
      const from = path.includes("resume") ? 3 : after;
      frames(response, path.includes("resume") ? log.slice(3) : log.slice(0, 3), from);
      response.end();
    });
    const run = client.getWorkflow("w").getRun("r1");
    const first = await Array.fromAsync(await run.stream());
    expect(numbers(first)).toEqual([1, 2, 3]);
    const second = await Array.fromAsync(await run.resumeStream({ resumeData: { ok: true } }));
    expect(numbers(second)).toEqual([4, 5, 6, 7]);
  });

  it("stays with a run that waits, if it follows", async () => {
    const log = [...logOf(3, "suspended"), ...logOf(3).map((chunk) => ({ ...chunk, seq: chunk.seq + 3 }))];
    let opened = 0;
    const { client, requests } = await serve(({ body: { after = 0 } }, response) => {
      frames(response, opened++ === 0 ? log.slice(0, 3) : log.slice(after), after);
      if (opened === 1) setTimeout(() => response.destroy(), 20);
    });
    const stream = await client.getWorkflow("w").getRun("r1").observeStream({ follow: true });
    const read: number[] = [];
    await stream.processDataStream({
      reconnect: { delayMs: 1 },
      onChunk: ({ seq }) => {
        read.push(seq);
        if (seq === 6) stream.leave();
      },
    });
    expect(read).toEqual([1, 2, 3, 4, 5, 6]);
    expect(requests.map(({ body }) => body)).toEqual([{ follow: true }, { after: 3, follow: true }]);
  });

  it("is a readable stream, and stops when it is cancelled", async () => {
    const { client } = await serve((_, response) => frames(response, logOf(9).slice(0, 4), 0));
    const stream = await client.getWorkflow("w").getRun("r1").observeStream();
    const reader = stream.getReader();
    expect((await reader.read()).value?.seq).toBe(1);
    expect((await reader.read()).value?.seq).toBe(2);
    expect(stream.after).toBe(2);
    await reader.cancel();
    expect((await reader.read()).done).toBe(true);
  });

  it("reports what the server refuses", async () => {
    const { client } = await serve((_, response) => {
      const error = { name: "AgentError", code: "already-decided", message: "taken" };
      response.writeHead(409, { "content-type": "application/json" }).end(JSON.stringify(error));
    });
    const run = client.getWorkflow("w").getRun("r1");
    await expect(run.resumeStream({ step: "a" })).rejects.toSatisfy((error) =>
      AgentError.is(error, "already-decided"),
    );
  });
});

describe("a request to a workflow run", () => {
  it("is repeated under one key if its answer was lost", async () => {
    let count = 0;
    const { client, requests } = await serve((_, response) => {
      if (count++ < 2) return response.destroy();
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ message: "Workflow run started", runId: "r1" }));
      return response;
    });
    await client
      .getWorkflow("w")
      .getRun("r1")
      .start({ inputData: { n: 1 } });
    expect(requests).toHaveLength(3);
    expect(new Set(requests.map(({ key }) => key)).size).toBe(1);
    expect(requests[0]?.key).toBeTypeOf("string");
  });

  it("names a new run before it is created, so that a repetition creates no second one", async () => {
    let count = 0;
    const { client, requests } = await serve(({ path }, response) => {
      if (count++ === 0) return response.destroy();
      const runId = new URL(path, "http://x").searchParams.get("runId");
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ runId }));
      return response;
    });
    const run = await client.getWorkflow("w").createRun({ resourceId: "ann" });
    expect(requests.map(({ path }) => path)).toEqual(
      Array.from({ length: 2 }, () => `/api/workflows/w/create-run?runId=${run.runId}`),
    );
  });
});
