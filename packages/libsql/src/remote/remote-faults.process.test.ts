import { type AddressInfo, connect, createServer } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { AgentError } from "@selvedge/core/errors";
import {
  insert,
  MESSAGES,
  realSystem,
  remove,
  RESOURCES,
  type Storage,
  type System,
  update,
  type Write,
} from "@selvedge/core/storage";
import { cuttingProxy, freePort } from "@selvedge/testing";
import { Random } from "@selvedge/testing/simulator";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeTokens, SqldServer, sqldMissing } from "../__fixtures__/sqld-server.ts";
import { LibSQLStore } from "../libsql-store.ts";

if (sqldMissing !== undefined) console.warn(`skipped: faults of a libSQL server: ${sqldMissing}`);

const addOne = update(RESOURCES, { where: { id: "counter" }, increment: { version: 1 }, require: true });
const message = (id: string): Write =>
  insert(MESSAGES, { id, thread_id: "t", role: "user", content: {}, created_at: 0 });

async function openCounter(url: string): Promise<Storage> {
  const storage = new LibSQLStore({ url });
  await storage.commit([insert(RESOURCES, { id: "counter", version: 0 })]);
  return storage;
}

/** Four lanes of commits with ids. Returns the ids of those that were acknowledged. */
async function commitInLanes(storage: Storage, each: number): Promise<string[]> {
  const acknowledged: string[] = [];
  const lane = async (lane: number): Promise<void> => {
    for (let at = 0; at < each; at++) {
      const id = `${lane}-${at}`;
      try {
        await storage.commit([message(id), addOne], { id });
        acknowledged.push(id);
      } catch (error) {
        if (!AgentError.is(error, "storage-failed")) throw error;
      }
    }
  };
  await Promise.all([0, 1, 2, 3].map(lane));
  return acknowledged;
}

/** Every acknowledged commit is there, and none twice or in part. */
async function checkCommits(url: string, acknowledged: readonly string[]): Promise<void> {
  const storage = new LibSQLStore({ url });
  const messages = await storage.select({ table: MESSAGES, columns: ["id"] });
  const [counter] = await storage.select({ table: RESOURCES });
  await storage.close();
  expect(counter!.version).toBe(messages.length);
  expect(messages.map(({ id }) => id)).toEqual(expect.arrayContaining([...acknowledged]));
}

describe.skipIf(sqldMissing !== undefined)("faults of a libSQL server", () => {
  it.for([
    ["http", 25],
    ["ws", 12],
  ] as const)(
    "leave each commit with an id carried out once while %s connections are cut at any byte",
    async ([scheme, each]) => {
      const random = new Random(5);
      const server = await SqldServer.start();
      const proxy = await cuttingProxy(server.port);
      const storage = await openCounter(proxy.url.replace("http", scheme));
      proxy.limit = () => random.between(300, 4_000);
      proxy.requestLimit = () => random.between(300, 12_000);
      proxy.cutAll();
      const acknowledged = await commitInLanes(storage, each);
      await storage.close();
      const cuts = proxy.cuts;
      await proxy.close();
      await checkCommits(server.url(), acknowledged);
      await server.stop();
      expect(cuts).toBeGreaterThan(20);
      expect(acknowledged.length).toBeGreaterThan(2 * each);
    },
  );

  it.for(["http", "ws"] as const)(
    "are waited for: over %s, work continues when a killed server is back",
    async (scheme) => {
      const server = await SqldServer.start();
      const storage = await openCounter(server.url(scheme));
      const working = commitInLanes(storage, 150);
      for (let round = 0; round < 3; round++) {
        await wait(100);
        await server.kill();
        await wait(200);
        await server.begin();
      }
      const acknowledged = await working;
      await storage.close();
      await checkCommits(server.url(), acknowledged);
      await server.stop();
      expect(acknowledged.length).toBe(600);
    },
  );

  it.for(["http", "ws"] as const)(
    "include slowness: over %s, a slow server is waited for",
    async (scheme) => {
      const server = await SqldServer.start();
      const slow = createServer((client) => {
        const upstream = connect(server.port, "127.0.0.1");
        client.pipe(upstream).on("error", () => client.destroy());
        client.on("error", () => upstream.destroy());
        // Every answer takes a while.
        upstream.on("data", (data) => void setTimeout(() => client.write(data), 150));
        upstream.on("close", () => client.destroy());
      });
      await new Promise<void>((resolve) => slow.listen(0, "127.0.0.1", resolve));
      const storage = await openCounter(`${scheme}://127.0.0.1:${(slow.address() as AddressInfo).port}`);
      const acknowledged = await commitInLanes(storage, 3);
      await storage.close();
      slow.close();
      expect(acknowledged).toHaveLength(12);
      await checkCommits(server.url(), acknowledged);
      await server.stop();
    },
  );

  it("include silence: a server that never answers is an error, and what it was sent may have taken effect", async () => {
    const server = await SqldServer.start();
    let isSilent = false;
    const proxy = createServer((client) => {
      const upstream = connect(server.port, "127.0.0.1");
      client.pipe(upstream).on("error", () => client.destroy());
      client.on("error", () => upstream.destroy());
      upstream.on("data", (data) => void (isSilent || client.write(data)));
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    // The minute that an answer may take passes in a moment.
    const setTimer: System["setTimer"] = (ms, call, options) => realSystem.setTimer(ms / 100, call, options);
    const system = { ...realSystem, setTimer, monotonic: () => realSystem.monotonic() * 100 };
    const storage = new LibSQLStore({ url, system });
    await storage.init();
    isSilent = true;
    const error = await storage.commit([message("a")]).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "storage-failed" });
    expect(String(error)).toMatch(/no response within 60 s.*What was sent may have taken effect/);
    await storage.close();
    proxy.close();
    await server.stop();
  });

  it("are named: nothing listens at the address", async () => {
    const port = await freePort();
    for (const scheme of ["http", "ws"]) {
      const storage = new LibSQLStore({ url: `${scheme}://127.0.0.1:${port}?authToken=secret` });
      const error = await storage.init().catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: "storage-failed" });
      expect((error as Error).message).toMatch(/cannot be reached \(ECONNREFUSED\)\. Check url/);
      expect((error as Error).message).not.toContain("secret");
      await storage.close();
    }
  });
});

describe.skipIf(sqldMissing !== undefined)("a libSQL server with tokens", () => {
  const tokens = makeTokens();
  let server: SqldServer;
  beforeAll(async () => void (server = await SqldServer.start(tokens.publicKey)));
  afterAll(() => server.stop());

  async function initWith(authToken: string | undefined, scheme = "http"): Promise<unknown> {
    const storage = new LibSQLStore({ url: server.url(scheme), ...(authToken && { authToken }) });
    try {
      return await storage.init().catch((error: unknown) => error);
    } finally {
      await storage.close();
    }
  }

  it.for(["http", "ws"] as const)("accepts the right token over %s", async (scheme) => {
    expect(await initWith(tokens.token(), scheme)).toBeUndefined();
  });

  it.for([
    ["http", /the server refused the token .* Check authToken\./],
    // Its reason may arrive before the connection ends, or not.
    ["ws", /the server (refused the token|ended the connection) .* Check (url and )?authToken\./],
  ] as const)("refuses a wrong or missing one over %s, and says so", async ([scheme, message]) => {
    for (const token of [undefined, "nonsense", makeTokens().token()]) {
      const error = await initWith(token, scheme);
      expect(error).toMatchObject({
        code: "storage-failed",
        message: expect.stringMatching(message) as string,
      });
    }
  });

  it("names the reason when the token expires while the store is open, and works on with a new one", async () => {
    // The server allows for clocks that are a minute apart.
    const exp = Math.floor(Date.now() / 1_000) - 57;
    const storage = new LibSQLStore({
      url: server.url(),
      authToken: tokens.token({ a: "rw", exp }),
      pollMs: 20,
    });
    const outcome = (): Promise<unknown> =>
      storage
        .commit([insert(RESOURCES, { id: "expiring" }, "update")])
        .then(() => "stored")
        .catch(String);
    await expect
      .poll(outcome, { timeout: 90_000 })
      .toMatch(/the server refused the token .* Check authToken/);
    await storage.close();
    const renewed = new LibSQLStore({ url: server.url(), authToken: tokens.token() });
    await renewed.commit([remove(RESOURCES, { id: "expiring" })]);
    await renewed.close();
  });

  it("lets a token that only reads read, and names the reason when it writes", async () => {
    await initWith(tokens.token());
    const storage = new LibSQLStore({ url: server.url(), authToken: tokens.token({ a: "ro" }) });
    expect(await storage.count({ table: RESOURCES })).toBe(0);
    await expect(storage.commit([insert(RESOURCES, { id: "a" })])).rejects.toMatchObject({
      code: "storage-failed",
      message: expect.stringMatching(/the token does not allow this .* it may only allow reads/) as string,
    });
    await storage.close();
  });
});

describe("the options of a remote LibSQLStore", () => {
  const url = "libsql://example.com";

  it.each([
    [{ url, authToken: "" }, /authToken must be/],
    [{ url, durability: "power-safe" }, /durability is for files, got "power-safe"/],
    [{ url, pollMs: 0 }, /pollMs must be .* got 0/],
    [{ url: "libsql://" }, /url must be an address/],
  ])("%o is refused", (options, message) => {
    expect(() => new LibSQLStore(options as never)).toThrow(
      expect.objectContaining({
        code: "invalid-argument",
        message: expect.stringMatching(message) as string,
      }),
    );
  });

  it("has no vacuum", async () => {
    const storage = new LibSQLStore({ url });
    await expect(storage.vacuum()).rejects.toMatchObject({ code: "not-supported" });
    await storage.close();
  });
});
