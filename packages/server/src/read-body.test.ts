import { realSystem } from "@selvedge/core";
import { expect, test } from "vitest";
import { byHeader, gate, served, toRequest } from "./__fixtures__/served.ts";
import { readBody, timeFor } from "./read-body.ts";

const LIMITS = { bodyBytes: 1 << 20, bodyMs: 60, jsonDepth: 10 };

/** Pieces of a body, one every so many milliseconds, until there are no more or nobody reads. */
function paced(pieces: readonly string[], everyMs: number) {
  let index = 0;
  let cancelled = false;
  const body = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        if (index > 0) await new Promise((resolve) => setTimeout(resolve, everyMs));
        if (cancelled) return;
        if (index === pieces.length) return controller.close();
        controller.enqueue(new TextEncoder().encode(pieces[index++]));
      },
      cancel: () => {
        cancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  const request = new Request("http://x/", {
    method: "POST",
    body,
    duplex: "half",
    headers: { "content-type": "application/json" },
  } as RequestInit);
  return { request, isCancelled: () => cancelled };
}

test("a body that trickles in is given up", async () => {
  const { request, isCancelled } = paced(
    Array.from({ length: 500 }, () => " "),
    10,
  );
  await expect(readBody(request, LIMITS, realSystem)).rejects.toMatchObject({
    code: "request-timeout",
    status: 408,
  });
  expect(isCancelled()).toBe(true);
});

test("a body that never goes on is given up", async () => {
  const body = new ReadableStream<Uint8Array>({ start: (it) => it.enqueue(new Uint8Array([123])) });
  const request = new Request("http://x/", { method: "POST", body, duplex: "half" } as RequestInit);
  await expect(readBody(request, LIMITS, realSystem)).rejects.toMatchObject({ code: "request-timeout" });
});

test("a long body on a slow line has the time it needs", async () => {
  const piece = "x".repeat(32 << 10);
  const { request } = paced(['"', ...Array.from({ length: 8 }, () => piece), '"'], 40);
  expect(await readBody(request, LIMITS, realSystem)).toBe(piece.repeat(8));
});

test("the longest body has a longest time", () => {
  expect(timeFor(8 << 20, { bodyMs: 30_000 })).toBe(158_000);
  expect(timeFor(0, { bodyMs: 0 })).toBe(Number.POSITIVE_INFINITY);
});

test("a body that breaks off is no failure of the server", async () => {
  const logged: unknown[] = [];
  const log = (...words: unknown[]) => void logged.push(words);
  const { server } = served([], { logger: { debug() {}, info() {}, warn: log, error: log } });
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode('{"mess')),
    pull: (controller) => controller.error(Object.assign(new Error("aborted"), { code: "ECONNRESET" })),
  });
  const headers = { "content-type": "application/json" };
  const asked = { method: "POST", body, headers, duplex: "half" } as const;
  const response = await server.fetch(new Request("http://localhost/api/agents/bare/generate", asked));
  expect([response.status, await response.json()]).toMatchObject([
    400,
    { code: "invalid-argument", message: expect.stringContaining("ended early") },
  ]);
  expect(logged).toEqual([]);
});

test("a caller has only so many requests under way, and others have theirs", async () => {
  const release = gate();
  const { server, call } = served(
    async () => {
      await release.opened;
      return "ok";
    },
    { authorize: byHeader, limits: { requestsPerResource: 2, requests: 3 } },
  );
  const body = { messages: "Hi" };
  const ask = (user: string) => call("generate", { params: { agentId: "bare" }, body }, user);
  const look = async (user: string) => (await server.fetch(toRequest("listAgents", {}, user))).status;
  const asked = [ask("bob"), ask("bob")];
  const refused = await ask("bob");
  expect(refused.status).toBe(429);
  expect(await refused.json()).toMatchObject({ code: "too-many-requests" });
  expect(await look("ann")).toBe(200);
  asked.push(ask("ann"));
  expect(await look("cid")).toBe(429);
  expect((await server.fetch(toRequest("health"))).status).toBe(200);
  release.open();
  for (const response of await Promise.all(asked)) expect(response.status).toBe(200);
  expect(await look("bob")).toBe(200);
});
