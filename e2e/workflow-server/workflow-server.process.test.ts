import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { MastraClient } from "@selvedge/client-js";
import { WorkflowRunStore } from "@selvedge/react";
import { expect, it, onTestFinished } from "vitest";

const CHILD = fileURLToPath(new URL("child.ts", import.meta.url));
const WAIT = { timeout: 60_000, interval: 50 };

/** A server that is killed and started again at the same address, on the same file. */
class KilledServer {
  readonly folder: string = mkdtempSync(join(tmpdir(), "selvedge-workflow-"));
  port = 0;
  #child: ChildProcess | undefined;

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    const child = fork(CHILD, [this.folder, String(this.port)], {
      execArgv: ["--conditions=selvedge-source"],
    });
    this.#child = child;
    const [message] = (await Promise.race([
      once(child, "message"),
      once(child, "exit").then(([code]) =>
        Promise.reject(new Error(`The server exited with ${String(code)}.`)),
      ),
    ])) as [{ port: number }];
    this.port = message.port;
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
  }

  /** The steps that were executed, in order. */
  notes(): string[] {
    return readFileSync(join(this.folder, "notes"), "utf8").trim().split("\n");
  }
}

it(
  "a run continues when its server is killed in a step and while it waits, and a client loses no event",
  { timeout: 240_000, tags: ["long"] },
  async () => {
    const server = new KilledServer();
    await server.start();
    onTestFinished(async () => {
      await server.kill();
      rmSync(server.folder, { recursive: true, force: true });
    });
    const client = new MastraClient({ baseUrl: server.url, backoffMs: 20 });
    const workflow = client.getWorkflow("refund");
    const run = await workflow.createRun({ resourceId: "ann" });
    // Killed while a step is executed; the reader keeps its stream.
    const stream = await run.stream({ inputData: { order: "o-1" }, closeOnSuspend: false });
    const seen: number[] = [];
    const reading = stream.processDataStream({
      reconnect: { delayMs: 50 },
      onChunk: ({ seq }) => seen.push(seq),
    });
    await expect.poll(() => server.notes(), WAIT).toEqual(["find", "check"]);
    const page = new WorkflowRunStore(client, {
      workflowId: "refund",
      runId: run.runId,
      reconnect: { delayMs: 50 },
    });
    onTestFinished(page.subscribe(() => {}));
    await server.kill();
    writeFileSync(join(server.folder, "go"), "");
    await server.start();
    await expect.poll(async () => (await workflow.runById(run.runId)).status, WAIT).toBe("suspended");
    // The step in flight is executed again, the one before it is not.
    expect(server.notes()).toEqual(["find", "check", "check", "approve"]);
    await expect
      .poll(() => page.getSnapshot().suspended, WAIT)
      .toEqual([{ step: "approve", payload: { amount: 40 } }]);

    // Killed while the run waits; the resume is sent while the server is away, and repeated until it is stored.
    await server.kill();
    await Promise.all([
      server.start(),
      expect
        .poll(
          () => run.resume({ step: "approve", resumeData: { approved: true }, idempotencyKey: "k" }),
          WAIT,
        )
        .toMatchObject({ runId: run.runId }),
    ]);
    await reading;
    await expect.poll(async () => (await workflow.runById(run.runId)).status, WAIT).toBe("success");
    expect((await workflow.runById(run.runId)).result).toEqual({ order: "o-1", amount: 40, approved: true });
    await expect
      .poll(() => page.getSnapshot().run?.result, WAIT)
      .toEqual({
        order: "o-1",
        amount: 40,
        approved: true,
      });
    expect(server.notes()).toEqual(["find", "check", "check", "approve", "approved"]);
    expect(seen).toEqual(Array.from({ length: seen.length }, (_, index) => index + 1));
  },
);
