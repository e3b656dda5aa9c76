import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { Connection } from "./connection.ts";
import { MastraClient } from "./mastra-client.ts";

const open = new Set<() => void>();
afterEach(() => {
  for (const close of open) close();
  open.clear();
});

async function listen(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.add(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe("Connection", () => {
  it("takes a long silence for a broken line", async () => {
    const url = await listen((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write('data: {"n":1}\n\n');
    });
    const connection = new Connection<{ n: number }>(await fetch(url), 50);
    const seen: number[] = [];
    const read = async () => {
      for await (const events of connection.read()) seen.push(...events.map(({ n }) => n));
    };
    await expect(read()).rejects.toMatchObject({ code: "connection-failed" });
    expect([seen, connection.closed]).toEqual([[1], true]);
  });

  it("keeps characters whole that arrive in two pieces", async () => {
    const bytes = new TextEncoder().encode('data: {"n":"Webkante ✂️"}\n\n');
    const url = await listen((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      let at = 0;
      const next = (): unknown =>
        at < bytes.length ? response.write(bytes.subarray(at, ++at), next) : response.end();
      next();
    });
    const seen: unknown[] = [];
    for await (const events of new Connection(await fetch(url)).read()) seen.push(...events);
    expect(seen).toEqual([{ n: "Webkante ✂️" }]);
  });

  it("throws what the server gave as the reason of its end, after what came before", async () => {
    const end = { name: "AgentError", code: "reader-too-slow", message: "Too slow.", details: { after: 7 } };
    const url = await listen((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(`id: 7\ndata: {"n":1}\n\nevent: end\ndata: ${JSON.stringify(end)}\n\n`);
    });
    const seen: unknown[] = [];
    const read = async () => {
      for await (const events of new Connection(await fetch(url)).read()) seen.push(...events);
    };
    await expect(read()).rejects.toMatchObject({ code: "reader-too-slow", details: { after: 7 } });
    expect(seen).toEqual([{ n: 1 }]);
  });
});

describe("a client behind something that is not our server", () => {
  it.each([
    [502, "text/html", "<h1>Bad gateway</h1>", "connection-failed"],
    [403, "text/plain", "no", "invalid-argument"],
    [404, "application/json", '{"error":"no such thing"}', "not-found"],
    [500, "application/json", '{"code":"from-the-future","message":"?"}', "internal"],
  ])("turns a %i of it into an error of ours", async (status, type, body, code) => {
    const url = await listen((_, response) => response.writeHead(status, { "content-type": type }).end(body));
    const client = new MastraClient({ baseUrl: url, retries: 0 });
    await expect(client.listAgents()).rejects.toMatchObject({ code, details: { status } });
  });

  it("does not take a page for a stream", async () => {
    const url = await listen((_, response) =>
      response.writeHead(200, { "content-type": "text/html" }).end("<h1>Log in</h1>"),
    );
    const agent = new MastraClient({ baseUrl: url, retries: 0 }).getAgent("weaver");
    await expect(agent.subscribeToThread({ threadId: "t1" })).rejects.toMatchObject({
      code: "connection-failed",
    });
  });

  it.each(["", ".", ".."])("refuses %j for a name, which would lead to another route", async (threadId) => {
    let requests = 0;
    const url = await listen((_, response) => {
      requests++;
      response.end("{}");
    });
    const thread = new MastraClient({ baseUrl: url }).getMemoryThread({ threadId });
    await expect(thread.delete()).rejects.toMatchObject({ code: "invalid-argument" });
    expect(requests).toBe(0);
  });
});
