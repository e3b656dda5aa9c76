import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { LibSQLStore } from "@selvedge/libsql";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { chunksOf } from "../../agent/__fixtures__/agent-with.ts";
import { gate, HERE, ON, onThread, type OnThread, until } from "../../agent/__fixtures__/on-thread.ts";
import { Mastra } from "../../mastra/mastra.ts";
import { MESSAGES, MESSAGE_STEPS, THREADS } from "../../storage/tables.ts";
import { ACTORS, CALLS, EVENTS, LANES, MAILBOX, RUNS, SENDS } from "../../storage/thread-tables.ts";
import { createTool } from "../../tool/tool.ts";

const PROGRAM = fileURLToPath(new URL("__fixtures__/worker.ts", import.meta.url));
const refusal = (code: string) => expect.objectContaining({ name: "AgentError", code });

let folder: string;
let file: string;
let stores: LibSQLStore[] = [];
const children: ChildProcess[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "selvedge-"));
  file = join(folder, "store.db");
});

afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  for (const store of stores) await store.close();
  stores = [];
  await rm(folder, { recursive: true });
});

function open(): LibSQLStore {
  const store = new LibSQLStore({ url: `file:${file}` });
  stores.push(store);
  return store;
}

/** A worker process, with what it has said so far. */
function start(...args: string[]) {
  const [what, ...rest] = args as [string, ...string[]];
  const flags = ["--conditions=selvedge-source", "--disable-warning=ExperimentalWarning"];
  const child = spawn(process.execPath, [...flags, PROGRAM, what, file, join(folder, "log"), ...rest], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  children.push(child);
  const ended = once(child, "close");
  const lines: string[] = [];
  createInterface({ input: child.stdout! }).on("line", (line) => lines.push(line));
  return {
    lines,
    says: (line: string, count = 1) => until(() => lines.filter((one) => one === line).length >= count),
    go: () => child.stdin!.end("go\n"),
    ended,
    kill: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

const log = async () => (await readFile(join(folder, "log"), "utf8")).trim().split("\n");

/** The same agent, in this process, with tools that come to an end. */
function heir(
  script: Parameters<typeof onThread>[0],
  more: Parameters<typeof onThread>[1] = {},
): OnThread & { ran: string[] } {
  const ran: string[] = [];
  const tool = (id: string, extra: object = {}) =>
    createTool({
      id,
      description: id,
      execute: async (_, { idempotencyKey }) => {
        ran.push(`${id} ${idempotencyKey}`);
        return `${id} done`;
      },
      ...extra,
    });
  const tools = {
    quick: tool("quick"),
    once: tool("once"),
    again: tool("again", { idempotent: true }),
    danger: tool("danger", { requireApproval: true }),
  };
  return { ...onThread(script, { storage: open(), tools, ...more }), ran };
}

describe("a process that was killed", () => {
  it("is followed by one that goes on: no step twice, an idempotent tool again, of any other the outcome is unknown", async () => {
    const first = start("work");
    await first.says("at work", 2);
    await first.kill();
    const before = await log();
    expect(before.filter((line) => line.startsWith("model"))).toEqual(["model 0", "model 1"]);
    const { agent, ran, model, history, messages, idle, asked } = heir(({ index }) => `reply ${index}`);
    const mastra = new Mastra({ agents: { agent }, storage: stores[0]!, logger: false });
    await mastra.start();
    await until(() => model.calls.length >= 2);
    await idle();
    expect(ran).toEqual(before.filter((line) => line.startsWith("again")));
    expect(await history()).toEqual([
      "signal: go",
      "assistant: [quick result]|[once result]|[again result]|reply 0",
      "signal: queued",
      "assistant: reply 1",
    ]);
    const parts = (await messages())[1]!.content.parts;
    expect(JSON.stringify(parts)).toContain("unknown whether the call took effect");
    expect(parts).toContainEqual(
      expect.objectContaining({
        toolInvocation: expect.objectContaining({
          toolName: "once",
          isError: true,
          result: expect.objectContaining({ code: "tool-outcome-unknown" }),
        }),
      }),
    );
    expect(
      asked(0)
        .filter((line) => line.startsWith("tool"))
        .join(),
    ).toContain("once");
    expect(JSON.stringify(model.calls[0]!.prompt)).toContain("quick done");
    await mastra.close();
  });

  it("is taken over by one that was there before it", async () => {
    const { agent, history, idle, storage } = heir(({ index }) => `reply ${index}`);
    const mastra = new Mastra({ agents: { agent }, storage, logger: false });
    await mastra.start();
    const first = start("work");
    await first.says("at work", 2);
    await first.kill();
    await until(async () => (await history()).includes("signal: queued"));
    await idle();
    expect((await history()).at(-1)).toMatch(/^assistant: reply/);
    await mastra.close();
  });

  it("leaves a tool that may run again under way: it runs again with the same key, and the model is not asked", async () => {
    const first = start("pay");
    await first.says("at work");
    await first.kill();
    const before = (await log()).filter((line) => line.startsWith("again"));
    const { agent, ran, history, idle, storage } = heir(({ index }) =>
      index === 0 ? "paid" : { toolCalls: [{ toolName: "again", toolCallId: `other-${index}`, input: {} }] },
    );
    const mastra = new Mastra({ agents: { agent }, storage, logger: false });
    await mastra.start();
    await until(() => ran.length > 0);
    await until(async () => (await history()).length >= 2);
    await idle();
    expect(ran.slice(0, 1)).toEqual(before);
    expect((await history())[1]).toBe("assistant: [again result]|paid");
    await mastra.close();
  });

  it("gives a call that runs again what it saved last, after every crash", async () => {
    for (const attempt of [0, 1]) {
      const worker = start(attempt === 0 ? "steps" : "steps-again");
      await worker.says("at work", 2);
      await worker.kill();
    }
    const seen: unknown[] = [];
    const steps = createTool({
      id: "steps",
      description: "steps",
      idempotent: true,
      execute: async (_, { progress }) => void seen.push(progress),
    });
    const { agent, storage, idle } = heir(() => "done", { tools: { steps } });
    const mastra = new Mastra({ agents: { agent }, storage, logger: false });
    await mastra.start();
    await until(() => seen.length >= 2);
    await idle();
    expect(await log()).toEqual([
      "model 0",
      "steps s1 undefined",
      "steps s2 undefined",
      'steps s1 {"at":2,"of":"s1"}',
      'steps s2 {"at":2,"of":"s2"}',
    ]);
    expect(seen).toEqual([
      { at: 2, of: "s1" },
      { at: 2, of: "s2" },
    ]);
    await mastra.close();
  });

  it.each(["die-asking", "die-preparing"])(
    "every time it tries (%s) is not tried without end: the run fails after five attempts, and the message is kept",
    async (mode) => {
      const lives = [start(mode, "send")];
      for (;;) {
        await lives.at(-1)!.ended;
        if (lives.length === 5) break;
        lives.push(start(mode));
      }
      const asked = (await log()).length;
      expect(asked).toBe(5);
      const { agent, model, history, follow, idle } = heir(() => "not reached");
      const reader = await follow({ after: 0 });
      await agent.recover();
      const error = await reader.until("error");
      expect(error).toMatchObject({ payload: { error: { code: "attempts-exhausted" } } });
      await idle();
      expect(reader.types.filter((type) => type === "data-user-message")).toHaveLength(1);
      expect(model.calls).toHaveLength(0);
      expect((await history())[0]).toBe("signal: go");
      reader.stop();
    },
  );

  it.each([
    ["at once", 1],
    ["after a wait, because it failed before,", 2],
  ])(
    "on many threads leaves work that is taken up %s a few runs at a time",
    async (_, attempts) => {
      const first = start("many");
      await first.says("at work");
      await first.kill();
      await open().commit([{ op: "update", table: RUNS, where: { state: "running" }, set: { attempts } }]);
      let atOnce = 0;
      let most = 0;
      let done = 0;
      const { agent, storage } = heir(async () => {
        most = Math.max(most, ++atOnce);
        await new Promise((resolve) => setTimeout(resolve, 5));
        atOnce--;
        done++;
        return "ok";
      });
      const mastra = new Mastra({ agents: { agent }, storage, logger: false, threads: { recoverAtOnce: 3 } });
      await mastra.start();
      await until(() => done === 40);
      expect(most).toBe(3);
      await mastra.close();
    },
    40_000,
  );

  it("leaves approvals that still wait, here and for whoever asks", async () => {
    const first = start("wait");
    await first.says("waiting");
    await first.kill();
    const { agent, ran, history, follow, idle } = heir(({ index }) => `reply ${index}`);
    const { runs } = await agent.listSuspendedRuns();
    expect(runs).toMatchObject([
      { threadId: "t1", toolCalls: [{ toolCallId: "d1", requiresApproval: true }] },
    ]);
    const reader = await follow();
    expect(await reader.until("tool-call-approval")).toMatchObject({ runId: runs[0]!.runId });
    expect(ran).toEqual([]);
    const output = await agent.approveToolCall({ runId: runs[0]!.runId });
    const chunks = await chunksOf(output);
    expect(chunks.map((chunk) => chunk.type)).toContain("tool-result");
    await idle();
    expect(ran).toEqual([`danger ${runs[0]!.runId}:d1`]);
    expect(await history()).toEqual([
      "signal: go",
      "assistant: [danger result]|reply 0",
      "signal: queued",
      "assistant: reply 1",
    ]);
    await reader.until("finish", 3);
    expect(reader.chunks.map((chunk) => chunk.seq)).toEqual(reader.chunks.map((_, index) => index + 1));
    reader.stop();
  });

  it("is not taken over by who was told not to", async () => {
    const first = start("wait");
    await first.says("waiting");
    await first.kill();
    const { agent, model, storage } = heir(() => "x");
    const mastra = new Mastra({ agents: { agent }, storage, threads: { recover: false }, logger: false });
    await mastra.start();
    await storage.commit([
      {
        op: "update",
        table: CALLS,
        where: { tool_call_id: "d1" },
        set: { state: "decided", decision: { approved: false } },
      },
    ]);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(model.calls).toHaveLength(0);
    await mastra.close();
  });
});

describe("two processes that decide the same call at once", () => {
  it("come to one decision, and the tool runs at most once", async () => {
    const first = start("wait");
    await first.says("waiting");
    const deciders = [start("answer", "true"), start("answer", "false"), start("answer", "true")];
    await Promise.all(deciders.map((decider) => decider.says("ready")));
    for (const decider of deciders) decider.go();
    await until(() => deciders.every((decider) => decider.lines.length === 2));
    const outcomes = deciders.map((decider) => decider.lines[1]);
    expect(outcomes.filter((outcome) => outcome === "accepted")).toHaveLength(1);
    expect(
      outcomes
        .filter((outcome) => outcome !== "accepted")
        .every((outcome) => /already-decided|not-found/.test(outcome!)),
    ).toBe(true);
    const { idle, messages } = heir(() => "x");
    await until(
      async () =>
        (await messages()).length >= 2 && !JSON.stringify(await messages()).includes("approval-requested"),
    );
    await idle();
    const approved = outcomes[1] !== "accepted";
    expect((await log()).filter((line) => line.startsWith("danger"))).toHaveLength(approved ? 1 : 0);
  });
});

describe("two agents on one file", () => {
  it("are one thread: a key is taken once, messages reach the run, calls wait", async () => {
    const release = gate();
    const entered = gate();
    const script = async ({ index }: { index: number }) => {
      entered.open();
      await release.opened;
      return `a${index}`;
    };
    const one = onThread(script, { storage: open() });
    const two = onThread(script, { storage: open() });
    const key = { ...HERE, idempotencyKey: "k" };
    const sends = [one, two, one, two].map(({ agent }) => agent.sendMessage("hi", key));
    const admitted = await Promise.all(sends.map((sent) => sent.admitted));
    expect(admitted.filter((result) => !result.duplicate)).toHaveLength(1);
    expect(new Set(admitted.map((result) => result.runId)).size).toBe(1);
    expect(new Set(sends.map((sent) => sent.signal.id)).size).toBe(1);
    await entered.opened;
    expect(await two.agent.sendMessage("more", HERE).admitted).toMatchObject({
      action: "deliver",
      runId: admitted[0]!.runId,
    });
    expect(await one.agent.sendMessage("and", HERE).admitted).toMatchObject({
      action: "deliver",
      runId: admitted[0]!.runId,
    });
    const waiting = two.agent.generate("last", ON);
    release.open();
    await waiting;
    await one.idle();
    const said = (await one.history()).filter((line) => !line.startsWith("assistant"));
    expect(said).toEqual(["signal: hi", "signal: more", "signal: and", "user: last"]);
  });

  it("hand over on close: what waits goes on elsewhere", async () => {
    const script = () => "ok";
    const one = onThread(script, { storage: open() });
    const mastra = new Mastra({ agents: { tester: one.agent }, storage: one.storage, logger: false });
    await mastra.start();
    await one.agent.generate("first", ON);
    await mastra.close();
    await expect(one.agent.generate("second", ON)).rejects.toMatchObject({ name: "AgentError" });
    const two = onThread(script, { storage: open() });
    expect((await two.agent.generate("third", ON)).text).toBe("ok");
    expect((await two.history()).filter((line) => line.startsWith("user"))).toEqual([
      "user: first",
      "user: third",
    ]);
  });
});

describe("deleteThread", () => {
  it("takes everything of the thread with it, and a run under way is over", async () => {
    for (const storage of [open(), undefined]) {
      const began = gate();
      const release = gate();
      const hold = createTool({
        id: "hold",
        description: "holds",
        execute: async () => {
          began.open();
          await release.opened;
          return "held";
        },
      });
      const made = onThread([{ toolCalls: [{ toolName: "hold", input: {} }] }, "never", "fresh"], {
        tools: { hold },
        ...(storage && { storage }),
      });
      const { agent, memory } = made;
      await memory.createThread({ threadId: "t1", resourceId: "r1" });
      await agent.sendStateSignal(
        { id: "l", cacheKey: "k", contents: "s" },
        { ...HERE, ifIdle: { behavior: "persist" } },
      );
      const output = await agent.stream("go", ON);
      await began.opened;
      await agent.queueMessage("queued", { ...HERE, idempotencyKey: "k" }).admitted;
      await memory.deleteThread("t1");
      release.open();
      const chunks = await chunksOf(output);
      expect(chunks.at(-1)).toMatchObject({ type: "error", payload: { error: { code: "superseded" } } });
      for (const table of [
        ACTORS,
        MAILBOX,
        RUNS,
        CALLS,
        LANES,
        EVENTS,
        SENDS,
        MESSAGES,
        MESSAGE_STEPS,
        THREADS,
      ])
        expect([table.name, await made.storage.count({ table })]).toEqual([table.name, 0]);
      await expect(agent.sendToolApproval({ ...HERE, approved: true })).rejects.toEqual(refusal("not-found"));
      expect((await agent.generate("hello", ON)).text).toBe("never");
      expect(await made.history()).toEqual(["user: hello", "assistant: never"]);
    }
  });
});

describe("a run that is taken over by an agent that cannot be made", () => {
  it("fails in time, and frees its thread", async () => {
    const threads = { lease: { leaseMs: 100, renewMs: 60_000 } };
    const hung = heir([{ hang: true }], { threads });
    const streamOptions = { limits: { processorTimeoutMs: 100 } };
    await hung.agent.sendMessage("go", { ...HERE, ifIdle: { streamOptions } }).admitted;
    await until(() => hung.model.calls.length === 1);
    const never = () => new Promise<never>(() => {});
    const next = heir(["unused"], { threads, instructions: never });
    await next.agent.recover();
    await next.idle();
    const runs = await stores[1]!.select({ table: RUNS });
    expect(runs).toMatchObject([{ state: "failed", error: { code: "processor-failed" } }]);
  });
});

describe("a run that is taken over before its answer was processed", () => {
  it("shows its processors the text of the answer", async () => {
    const seen: string[] = [];
    const stuck = gate();
    const threads = { lease: { leaseMs: 100, renewMs: 60_000 } };
    const hung = heir(["The answer."], {
      threads,
      outputProcessors: [{ id: "p", processOutputResult: () => stuck.opened }],
    });
    void hung.agent.sendMessage("go", HERE);
    await until(async () => (await hung.history()).length === 2);
    const next = heir(["unused"], {
      threads,
      outputProcessors: [{ id: "p", processOutputResult: ({ result }) => void seen.push(result.text) }],
    });
    await next.agent.recover();
    await until(() => seen.length > 0);
    expect(seen).toEqual(["The answer."]);
    stuck.open();
    await next.idle();
  });
});

describe("a process that finds many interrupted runs", () => {
  it("continues no more of them at once than it may carry out", async () => {
    const lease = { leaseMs: 100, renewMs: 60_000 };
    const hung = heir(() => ({ hang: true }), { threads: { lease } });
    const ids = ["t1", "t2", "t3", "t4", "t5"];
    for (const threadId of ids) await hung.agent.sendMessage("go", { ...HERE, threadId }).admitted;
    await until(() => hung.model.calls.length === ids.length);
    let active = 0;
    let most = 0;
    const slow = async () => {
      most = Math.max(most, ++active);
      await new Promise((resolve) => setTimeout(resolve, 20));
      active--;
      return "ok";
    };
    const next = heir(slow, { threads: { lease, maxRuns: 2 } });
    await next.agent.recover();
    for (const threadId of ids) await until(async () => (await next.history(threadId)).length === 2);
    expect(most).toBe(2);
  });
});

describe("a process that shuts down", () => {
  it("stores an answer, and leaves the run to others", async () => {
    const busy = gate();
    const script = async ({ prompt }: { prompt: unknown }) => {
      if (JSON.stringify(prompt).includes("busy")) await busy.opened;
      return JSON.stringify(prompt).includes("done")
        ? "ok"
        : { toolCalls: [{ toolName: "danger", input: {} }] };
    };
    const first = heir(script);
    await first.agent.sendMessage("ask", HERE).admitted;
    await until(async () => (await first.agent.listSuspendedRuns()).total === 1);
    await first.agent.sendMessage("busy", { ...HERE, threadId: "t2" }).admitted;
    const closed = first.agent.close();
    await first.agent.sendToolApproval({ ...HERE, approved: true });
    // A run elsewhere on the thread is nothing to wait for any more.
    await expect(first.agent.generate("more", ON)).rejects.toEqual(refusal("storage-closed"));
    busy.open();
    await closed;
    expect(first.ran).toEqual([]);
    const next = heir(script);
    await next.agent.recover();
    await until(() => next.ran.length === 1);
    await next.idle();
  });
});
