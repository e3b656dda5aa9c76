import { connect } from "node:net";
import { silentLogger } from "@selvedge/core";
import { MCPClient } from "@selvedge/mcp";
import { EventSource } from "eventsource";
import { describe, expect, onTestFinished, test } from "vitest";
import { frames, gate, readUntil, served } from "./__fixtures__/served.ts";
import { networkOf } from "./limit-connections.ts";
import { serve } from "./node.ts";
import type { ServerLimits } from "./server-options.ts";

const HERE = { threadId: "t1", resourceId: "ann" };
const agentId = "helper";

async function listening(script: Parameters<typeof served>[0], limits: Partial<ServerLimits> = {}) {
  const world = served(script);
  const running = await serve({ mastra: world.mastra, port: 0, limits });
  onTestFinished(() => running.close());
  return { ...world, ...running };
}

describe("a spec-true EventSource", () => {
  test("gets every chunk once, across lines that break", async () => {
    const { url, http, json } = await listening(({ index }) => `answer ${index} with a few words`);
    const source = new EventSource(`${url}/api/agents/helper/threads/t1/events?resourceId=ann&after=0`);
    onTestFinished(() => source.close());
    const seen: number[] = [];
    let finished = 0;
    const news: (() => void)[] = [];
    source.onmessage = ({ data, lastEventId }) => {
      const chunk = JSON.parse(data as string) as { seq: number; type: string };
      expect(Number(lastEventId)).toBe(chunk.seq);
      seen.push(chunk.seq);
      if (chunk.type === "finish") finished++;
      for (const wake of news.splice(0)) wake();
    };
    for (let round = 1; round <= 3; round++) {
      await json("sendMessage", { params: { agentId }, body: { message: "Hi", ...HERE } });
      while (finished < round) await new Promise<void>((resolve) => news.push(resolve));
      http.closeAllConnections();
    }
    expect(seen).toEqual(seen.map((_, index) => index + 1));
    const { lastSeq } = await json("getThreadState", { params: { threadId: "t1" } });
    expect(seen.at(-1)).toBe(lastSeq);
  });
});

describe("streams", () => {
  test("open with a comment and the number they begin after, and keep a quiet line alive", async () => {
    const { url } = await listening([], { heartbeatMs: 30 });
    const response = await fetch(`${url}/api/agents/helper/threads/t1/events`);
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes(": heartbeat\n\n: heartbeat")) text += (await reader.read()).value;
    expect(text.startsWith(": connected\n\nretry: 1000\nid: 0\n\n")).toBe(true);
    await reader.cancel();
  });

  test("a reader that leaves is forgotten, and its run goes on", async () => {
    const release = gate();
    const { url, server, json } = await listening(async () => {
      await release.opened;
      return "done";
    });
    const response = await fetch(`${url}/api/agents/helper/stream`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ messages: "Hi", memory: { thread: "t1", resource: "ann" } }),
    });
    const stream = frames(response);
    await stream.next();
    expect(server.streamCount).toBe(1);
    await stream.return(undefined);
    await until(() => server.streamCount === 0);
    release.open();
    await until(
      async () => (await json("getThreadState", { params: { threadId: "t1" } })).runState === "idle",
    );
    expect(JSON.stringify(await json("listMessages", { params: { threadId: "t1" } }))).toContain("done");
  });

  test("a reader that takes nothing is let go with the number to go on after", async () => {
    // More than the machine itself keeps for a reader that is away.
    const words = Array.from({ length: 100 }, () => "x".repeat(20_000));
    const { port, server, json, call } = await listening(() => ({ text: words }), { stallMs: 200 });
    const socket = connect(port, "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    socket.write(
      "GET /api/agents/helper/threads/t1/events?resourceId=ann&after=0 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    );
    await new Promise<void>((resolve) => socket.once("data", () => resolve()));
    socket.pause();
    for (let round = 0; round < 12; round++)
      await json("queueMessage", { params: { agentId }, body: { message: "Hi", ...HERE } });
    await until(() => server.streamCount === 0);
    const pieces: Buffer[] = [];
    const ended = new Promise<void>((resolve) => {
      socket.on("data", (piece) => {
        pieces.push(piece);
        if (piece.includes("event: end") || piece.includes("0\r\n\r\n")) resolve();
      });
    });
    socket.resume();
    await ended;
    const text = Buffer.concat(pieces).toString();
    const end = JSON.parse(/event: end\ndata: (.*)\n/.exec(text)![1]!) as {
      code: string;
      details: { after: number };
    };
    expect(end.code).toBe("reader-too-slow");
    const numbers = [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
    expect(numbers.at(-1)).toBe(end.details.after);
    const rest = frames(
      await call("watchThread", {
        params: { agentId, threadId: "t1" },
        headers: { "last-event-id": String(end.details.after) },
      }),
    );
    expect((await rest.next()).value).toMatchObject({ id: String(end.details.after + 1) });
    await rest.return(undefined);
  });

  test("closing tells readers where to go on", async () => {
    const { url, json, close } = await listening(["Hello."]);
    const stream = frames(await fetch(`${url}/api/agents/helper/threads/t1/events?resourceId=ann&after=0`));
    await json("sendMessage", { params: { agentId }, body: { message: "Hi", ...HERE } });
    const read = await readUntil(stream, "finish");
    const closed = close();
    const { value } = await stream.next();
    expect(value).toMatchObject({
      event: "end",
      data: { code: "storage-closed", details: { after: read.length } },
    });
    expect((await stream.next()).done).toBe(true);
    await closed;
  });
});

async function until(reached: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 100_000;
  while (!(await reached())) {
    if (Date.now() > deadline) throw new Error(`Not reached: ${reached.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe("an MCP server of the host", () => {
  test.each(["mcp", "sse"])("is used by a client over its %s route", async (route) => {
    const { url } = await listening([]);
    const client = new MCPClient({
      id: `over-${route}`,
      servers: { here: { url: new URL(`${url}/api/mcp/tools/${route}`) } },
      logger: silentLogger,
    });
    onTestFinished(() => client.disconnect());
    const { here_add: add } = await client.getTools();
    const answer = JSON.stringify(await add!.execute({ context: { a: 1, b: 2 } }));
    expect(answer).toMatch(/sum\\*":\s*3/);
  });
});

describe("lines", () => {
  const open = async (port: number) => {
    const socket = connect(port, "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    let text = "";
    socket.on("data", (data) => (text += String(data)));
    socket.on("error", () => {});
    const closed = new Promise<string>((resolve) => socket.once("close", () => resolve(text)));
    await new Promise<void>((resolve) => socket.once("connect", resolve));
    return { socket, closed };
  };
  const head = (more: string) =>
    `POST /api/agents/helper/send-message HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n${more}\r\n`;

  test("on which a body does not come are answered, and cut", async () => {
    const { port } = await listening([], { bodyMs: 50 });
    const { socket, closed } = await open(port);
    socket.write(`${head("content-length: 1000\r\n")}{"mess`);
    const answer = await closed;
    expect(answer).toMatch(/^HTTP\/1.1 408 /);
    expect(answer).toContain('"request-timeout"');
  });

  test("are only so many from one address, and one that ends makes room", async () => {
    const { port, url } = await listening([], { connectionsPerAddress: 2 });
    const first = await open(port);
    await open(port);
    expect(await (await open(port)).closed).toBe("");
    first.socket.destroy();
    await until(async () => {
      try {
        return (await fetch(`${url}/health`, { headers: { connection: "close" } })).ok;
      } catch {
        return false;
      }
    });
  });

  test("are only so many in all", async () => {
    const { port } = await listening([], { connections: 1 });
    await open(port);
    expect(await (await open(port)).closed).toBe("");
  });

  test.each([
    ["192.0.2.7", "192.0.2.7"],
    ["::ffff:192.0.2.7", "192.0.2.7"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:db8::1", "2001:db8:0:0::/64"],
    ["1::4:5:6:7:8:9", "1:0:4:5::/64"],
    ["::1", "0:0:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ])("from %s are those of %s", (address, network) => {
    expect(networkOf(address)).toBe(network);
  });
});
