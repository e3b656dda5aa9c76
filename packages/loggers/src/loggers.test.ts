import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TransformCallback } from "node:stream";
import { Mastra } from "@selvedge/core";
import { Agent } from "@selvedge/core/agent";
import { scriptedModel } from "@selvedge/testing";
import { expect, it } from "vitest";
import { FileTransport } from "./file.ts";
import { HttpTransport } from "./http.ts";
import { LoggerTransport, PinoLogger } from "./index.ts";

class Kept extends LoggerTransport {
  readonly records: Record<string, unknown>[] = [];
  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.records.push(JSON.parse(chunk.toString()) as Record<string, unknown>);
    done();
  }
}

function loggerOf(options: ConstructorParameters<typeof PinoLogger>[0] = {}) {
  const kept = new Kept();
  const logger = new PinoLogger({ transports: { kept }, overrideDefaultTransports: true, ...options });
  return { logger, kept };
}

it("writes records with name, level and fields", async () => {
  const { logger, kept } = loggerOf({ name: "shop", level: "info" });
  logger.debug("quiet");
  logger.info("hello", { user: "ann" });
  logger.child({ component: "db" }).error("broken", new Error("disk"));
  await expect.poll(() => kept.records).toHaveLength(2);
  expect(kept.records[0]).toMatchObject({ name: "shop", level: 30, msg: "hello", user: "ann" });
  expect(kept.records[1]).toMatchObject({ component: "db", level: 50, err: { message: "disk" } });
});

it("redacts and silences", async () => {
  const { logger, kept } = loggerOf({ redact: ["password"] });
  logger.info("login", { password: "hunter2" });
  await expect.poll(() => kept.records[0]).toMatchObject({ password: "[Redacted]" });
  const silent = loggerOf({ level: "none" });
  silent.logger.error("never");
  expect(silent.kept.records).toEqual([]);
});

it("receives what the framework says", async () => {
  const { logger, kept } = loggerOf();
  const model = scriptedModel([{ error: new Error("overloaded") }]);
  const agent = new Agent({ name: "a", instructions: "", model });
  const mastra = new Mastra({ agents: { agent }, logger });
  await mastra
    .getAgent("agent")
    .generate("hi", { maxRetries: 0 })
    .catch(() => {});
  await expect.poll(() => kept.records.map(({ level }) => level)).toContain(50);
});

it("appends to a file", async () => {
  const folder = await mkdtemp(join(tmpdir(), "selvedge-log-"));
  try {
    const file = new FileTransport({ path: join(folder, "app.log") });
    const { logger } = loggerOf({ transports: { file } });
    for (let n = 0; n < 100; n++) logger.info(`record ${n}`);
    file.end();
    await once(file, "end");
    const lines = (await readFile(join(folder, "app.log"), "utf8")).trimEnd().split("\n");
    expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual(
      Array.from({ length: 100 }, (_, n) => `record ${n}`),
    );
  } finally {
    await rm(folder, { recursive: true });
  }
});

it("sends batches over HTTP, again after a failure, each record once", async () => {
  const received: string[] = [];
  let requests = 0;
  const server = createServer((request, response) => {
    let body = "";
    request
      .on("data", (data) => (body += data))
      .on("end", () => {
        requests += 1;
        if (requests === 1) return response.writeHead(503).end();
        received.push(...(JSON.parse(body) as { logs: { msg: string }[] }).logs.map(({ msg }) => msg));
        return response.end();
      });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const http = new HttpTransport({ url, batchSize: 4, retryOptions: { retryDelay: 1 } });
  const { logger } = loggerOf({ transports: { http } });
  for (let n = 0; n < 10; n++) logger.info(`record ${n}`);
  await expect.poll(async () => (await logger.flush(), received.length)).toBe(10);
  expect(received).toEqual(Array.from({ length: 10 }, (_, n) => `record ${n}`));
  server.close();
});

it("says what a transport needs", () => {
  expect(() => new FileTransport({ path: "" })).toThrow(/needs a path/);
  expect(() => new HttpTransport({ url: "nowhere" })).toThrow(/http\(s\) URL, got nowhere/);
});
