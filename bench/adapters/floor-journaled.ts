import { DatabaseSync } from "node:sqlite";
import { randomUUID } from "node:crypto";
import { aiSdkModel } from "../mocks/ai-sdk-model.ts";
import { TOOL } from "../lib/script.ts";
import type { Adapter, AgentSpec, BenchAgent } from "./types.ts";

/**
 * The floor of case c with what a durable thread of Selvedge promises: the thread is taken with a fence that every later
 * commit checks, a tool call is stored before it runs, and the stream is stored with numbers. Same tables, indexes and
 * commits, written by hand for this one program.
 */
export default {
  name: "floor-journaled",
  cases: ["c"],
  packages: [],
  storeNote: "node:sqlite, WAL, the tables and commits of a durable thread",
  load: async () => ({ createAgent: async (spec: AgentSpec) => agentOn(spec) }),
} satisfies Adapter;

const TABLES = `
  CREATE TABLE threads (id TEXT PRIMARY KEY, resource TEXT, title TEXT, created_at INTEGER, updated_at INTEGER) WITHOUT ROWID;
  CREATE INDEX threads_by_resource ON threads (resource, updated_at);
  CREATE INDEX threads_by_time ON threads (created_at);
  CREATE TABLE actors (thread TEXT PRIMARY KEY, owner TEXT, fence INTEGER, run TEXT, state TEXT, next_seq INTEGER, has_mail INTEGER) WITHOUT ROWID;
  CREATE INDEX actors_by_state ON actors (state) WHERE run IS NOT NULL;
  CREATE TABLE runs (id TEXT PRIMARY KEY, thread TEXT, fence INTEGER, state TEXT, options TEXT, step INTEGER, open_step TEXT, usage TEXT, started_at INTEGER, ended_at INTEGER);
  CREATE INDEX runs_by_thread ON runs (thread);
  CREATE INDEX runs_by_end ON runs (ended_at) WHERE ended_at IS NOT NULL;
  CREATE TABLE messages (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE, thread TEXT, role TEXT, content TEXT, created_at INTEGER);
  CREATE INDEX messages_by_thread ON messages (thread, seq);
  CREATE TABLE message_steps (message TEXT, step INTEGER, parts TEXT, PRIMARY KEY (message, step)) WITHOUT ROWID;
  CREATE TABLE events (thread TEXT, first INTEGER, last INTEGER, run TEXT, chunks TEXT, created_at INTEGER, rested_at INTEGER, PRIMARY KEY (thread, first));
  CREATE INDEX events_by_rest ON events (rested_at) WHERE rested_at IS NOT NULL;`;

function openStore(file: string) {
  const db = new DatabaseSync(file);
  db.exec(`PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=4000; ${TABLES}`);
  const sql = Object.fromEntries(
    Object.entries({
      begin: "BEGIN IMMEDIATE",
      commit: "COMMIT",
      newThread: "INSERT OR IGNORE INTO threads VALUES (?, 'user', 'bench', ?, ?)",
      touch: "UPDATE threads SET updated_at = ? WHERE id = ?",
      actor: "SELECT fence, next_seq, run FROM actors WHERE thread = ?",
      newActor: "INSERT INTO actors VALUES (?, 'me', ?, ?, 'running', ?, NULL)",
      take: "UPDATE actors SET owner = 'me', fence = ?, run = ?, state = 'running' WHERE thread = ? AND fence = ? AND run IS NULL",
      release:
        "UPDATE actors SET owner = NULL, run = NULL, state = 'idle', next_seq = ? WHERE thread = ? AND has_mail IS NULL",
      newRun: "INSERT INTO runs VALUES (?, ?, ?, 'running', '{}', 0, NULL, NULL, ?, NULL)",
      intend: "UPDATE runs SET open_step = ? WHERE id = ? AND fence = ?",
      step: "UPDATE runs SET step = ?, open_step = NULL, usage = ? WHERE id = ? AND fence = ?",
      end: "UPDATE runs SET step = ?, open_step = NULL, usage = ?, state = 'done', ended_at = ? WHERE id = ? AND fence = ?",
      message: "INSERT INTO messages (id, thread, role, content, created_at) VALUES (?, ?, ?, ?, ?)",
      parts: "INSERT INTO message_steps VALUES (?, ?, ?)",
      events: "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)",
      last: "SELECT id, role, content FROM messages WHERE thread = ? ORDER BY seq DESC LIMIT ?",
      more: "SELECT parts FROM message_steps WHERE message = ? ORDER BY step",
      count: "SELECT count(*) AS n FROM messages WHERE thread = ?",
    }).map(([name, text]) => [name, db.prepare(text)]),
  );
  const change = (name: string, ...values: (string | number | null)[]): void => {
    if (sql[name]!.run(...values).changes === 0) throw new Error(`${name}: a condition does not hold`);
  };
  return {
    change,
    all: (name: string, ...values: (string | number)[]): any[] => sql[name]!.all(...values),
    get: (name: string, ...values: (string | number)[]): any => sql[name]!.get(...values),
    tx(work: () => void) {
      sql["begin"]!.run();
      work();
      sql["commit"]!.run();
    },
    close: () => db.close(),
  };
}

function agentOn(spec: AgentSpec): BenchAgent {
  const model = aiSdkModel("v4", spec.model);
  const tools = spec.tools ? [{ type: "function", name: TOOL.name, inputSchema: TOOL.jsonSchema }] : [];
  const store = openStore(spec.store!.file);
  const { change } = store;

  /** A stored message as the model reads it: assistant parts and, for calls, their results. */
  const toPrompt = ({ id, role, content }: any): any[] => {
    const parts = JSON.parse(content);
    if (role === "user") return [{ role, content: parts }];
    const steps = [parts, ...store.all("more", id).map((row) => JSON.parse(row.parts))];
    return steps.flatMap((step) => stepPrompt(step));
  };

  return {
    async run(prompt, { threadId, onChunk }) {
      const thread = threadId!;
      const runId = randomUUID();
      const messageId = randomUUID();
      const actor = store.get("actor", thread);
      const messages: any[] = store.all("last", thread, spec.store!.lastMessages).reverse().flatMap(toPrompt);
      const input = [{ type: "text", text: prompt }];
      messages.push({ role: "user", content: input });
      const fence = (actor?.fence ?? 0) + 1;
      let seq: number = actor?.next_seq ?? 1;
      let chunks: any[] = [{ type: "start" }];
      const log = (rested: number | null = null) => {
        change(
          "events",
          thread,
          seq,
          seq + chunks.length - 1,
          runId,
          JSON.stringify(chunks),
          Date.now(),
          rested,
        );
        seq += chunks.length;
        chunks = [];
      };
      store.tx(() => {
        const now = Date.now();
        if (actor) change("take", fence, runId, thread, actor.fence);
        else {
          store.all("newThread", thread, now, now);
          change("newActor", thread, fence, runId, seq);
        }
        change("newRun", runId, thread, fence, now);
        change("touch", now, thread);
        change("message", randomUUID(), thread, "user", JSON.stringify(input), now);
        log();
      });
      for (let step = 0; step < spec.maxSteps; step++) {
        const { stream } = await model.doStream({ prompt: messages, tools });
        const parts: any[] = [];
        let text = "";
        let usage: unknown;
        chunks.push({ type: "step-start", messageId });
        for await (const part of stream) {
          if (part.type === "finish") usage = part.usage;
          else chunks.push(part);
          if (part.type === "text-delta") {
            text += part.delta;
            onChunk("text");
          } else if (part.type === "tool-call") {
            parts.push({ ...part, input: JSON.parse(part.input) });
            onChunk("tool");
          }
        }
        if (text) parts.unshift({ type: "text", text });
        const calls = parts.filter((part) => part.type === "tool-call");
        const save = () => {
          if (step === 0)
            change("message", messageId, thread, "assistant", JSON.stringify(parts), Date.now());
          else change("parts", messageId, step, JSON.stringify(parts));
        };
        if (calls.length === 0) {
          chunks.push({ type: "step-finish", usage }, { type: "finish", usage });
          const now = Date.now();
          store.tx(() => {
            change("end", step + 1, JSON.stringify(usage), now, runId, fence);
            save();
            change("touch", now, thread);
            log(now);
            change("release", seq, thread);
          });
          return;
        }
        store.tx(() => {
          change("intend", JSON.stringify(parts), runId, fence);
          log();
        });
        await Promise.all(
          calls.map(async (call) => {
            call.result = await TOOL.run(call.input);
            chunks.push({ type: "tool-result", toolCallId: call.toolCallId, result: call.result });
          }),
        );
        chunks.push({ type: "step-finish", usage });
        store.tx(() => {
          change("step", step + 1, JSON.stringify(usage), runId, fence);
          save();
          log();
        });
        messages.push(...stepPrompt(parts));
      }
    },
    async seed(threadIds, messages) {
      store.tx(() => {
        for (const id of threadIds) {
          store.all("newThread", id, Date.now(), Date.now());
          for (const { role, text } of messages)
            change("message", randomUUID(), id, role, JSON.stringify([{ type: "text", text }]), Date.now());
        }
      });
    },
    count: async (threadId) => Number(store.get("count", threadId).n),
    close: async () => store.close(),
  };
}

function stepPrompt(parts: any[]): any[] {
  const calls = parts.filter((part) => part.type === "tool-call");
  const results = calls.map(({ toolCallId, toolName, result }) => ({
    type: "tool-result",
    toolCallId,
    toolName,
    output: { type: "json", value: result },
  }));
  return [
    { role: "assistant", content: parts },
    ...(results.length > 0 ? [{ role: "tool", content: results }] : []),
  ];
}
