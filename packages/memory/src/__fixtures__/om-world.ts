import { Agent, type AgentExecutionOptions } from "@selvedge/core/agent";
import {
  assemble,
  MESSAGES,
  OM_CHUNKS,
  OM_DOMAIN,
  OM_EVENTS,
  OM_JOBS,
  OM_RECORDS,
  type OmChunkRow,
  type OmJobRow,
  type OmRecordRow,
  type Storage,
} from "@selvedge/core/storage";
import type { System } from "@selvedge/core/memory";
import type { ToolsInput } from "@selvedge/core/tools";
import { type Script, type ScriptedCall, type ScriptedModel, scriptedModel } from "@selvedge/testing";
import { Memory } from "../memory.ts";
import { countTokens } from "../observational/count-tokens.ts";
import type { ObservationalMemoryOptions } from "../observational/om-options.ts";
import type { MemoryWarning } from "../warning.ts";

export interface OmWorld {
  agent: Agent;
  memory: Memory;
  model: ScriptedModel;
  observer: ScriptedModel;
  reflector: ScriptedModel;
  warnings: MemoryWarning[];
  /** One turn, and all background work that follows from it. */
  turn(text: string, memory?: { thread: string; resource: string }): Promise<string>;
}

export const ADA = { thread: "t", resource: "ada" };

/** 100 tokens of text, about. */
export const LONG: string = Array.from({ length: 100 }, () => "word").join(" ");

/** Repeats what it is shown: one line for each message, with the first 40 characters. */
export function carefulObserver({ prompt }: ScriptedCall): string {
  const lines = promptText(prompt.at(-1)).split("\n");
  const said = lines.flatMap(
    (line) => /^\[[^\]]+\] (user|assistant): (.{0,40})/.exec(line)?.slice(1, 3).join(": ") ?? [],
  );
  return `<observations>\nDate: 2026-11-17\n${said.map((one) => `* 🟡 (10:00) ${one}`).join("\n")}\n</observations>\n<current-task>\nGo on.\n</current-task>`;
}

export function promptText(message: ScriptedCall["prompt"][number] | undefined): string {
  const content = message?.content ?? "";
  if (typeof content === "string") return content;
  return content.map((part) => ("text" in part ? part.text : part.type)).join("");
}

export interface OmWorldOptions {
  storage: Storage;
  om?: ObservationalMemoryOptions;
  script?: Script;
  observer?: Script;
  reflector?: Script;
  tools?: ToolsInput;
  system?: System;
  lastMessages?: number;
  agentId?: string;
  /** The agent's default options. */
  defaults?: AgentExecutionOptions;
}

export function omWorld(options: OmWorldOptions): OmWorld {
  const { storage, system } = options;
  const model = scriptedModel(options.script ?? (({ index }) => `answer ${index} ${LONG}`));
  const observer = scriptedModel(options.observer ?? carefulObserver, { modelId: "observer" });
  const reflector = scriptedModel(
    options.reflector ?? (() => "<observations>\n* 🔴 all of it\n</observations>"),
    {
      modelId: "reflector",
    },
  );
  const warnings: MemoryWarning[] = [];
  const { observation, reflection, ...rest } = options.om ?? {};
  const memory = new Memory({
    storage,
    ...(system && { system }),
    onWarning: (warning) => warnings.push(warning),
    options: {
      ...(options.lastMessages !== undefined && { lastMessages: options.lastMessages }),
      observationalMemory: {
        ...rest,
        observation: { model: observer, messageTokens: 1_000, bufferTokens: 250, ...observation },
        reflection: { model: reflector, ...reflection },
      } satisfies ObservationalMemoryOptions,
    },
  });
  const id = options.agentId ?? "a";
  const agent = new Agent({
    id,
    name: id,
    instructions: "Be kind.",
    model,
    memory,
    ...(options.tools && { tools: options.tools }),
    ...(options.defaults && { defaultOptions: options.defaults }),
    ...(system && { system }),
  });
  return {
    agent,
    memory,
    model,
    observer,
    reflector,
    warnings,
    async turn(text, address = ADA) {
      const { text: answer } = await agent.generate(text, { memory: address });
      await memory.settled();
      return answer;
    },
  };
}

export interface OmRows {
  record: OmRecordRow | undefined;
  chunks: OmChunkRow[];
  jobs: OmJobRow[];
  messages: { seq: number; id: string; tokens: number }[];
}

export async function omRows(storage: Storage, threadId = "t"): Promise<OmRows> {
  await storage.domain(OM_DOMAIN);
  const where = { thread_id: threadId };
  const [[record], chunks, jobs, rows] = await storage.selectAll([
    { table: OM_RECORDS, where: { ...where, source: "" } },
    { table: OM_CHUNKS, where, orderBy: [{ column: "number" }] },
    { table: OM_JOBS, where, orderBy: [{ column: "number" }] },
    { table: MESSAGES, where, orderBy: [{ column: "seq" }] },
  ]);
  const messages = await assemble(storage, rows);
  return {
    record,
    chunks,
    jobs,
    messages: messages.map((message, at) => ({
      seq: rows[at]!.seq,
      id: message.id,
      tokens: countTokens(message),
    })),
  };
}

/** What is wrong with the rows of a thread: coverage with a gap or an overlap, sums that differ from a recount. */
export async function omFaults(storage: Storage, threadId = "t"): Promise<string[]> {
  const { record, chunks, jobs, messages } = await omRows(storage, threadId);
  if (!record) return messages.length > 0 ? ["messages and no record"] : [];
  const faults: string[] = [];
  const observed = chunks.filter(({ kind }) => kind === "observe");
  let covered = 0;
  for (const chunk of observed) {
    const range = messages.filter(({ seq }) => seq > covered && seq <= chunk.last_seq);
    if (chunk.first_seq !== range[0]?.seq)
      faults.push(`chunk ${chunk.number} begins at ${chunk.first_seq}, not ${range[0]?.seq}`);
    if (range.length !== chunk.message_count)
      faults.push(`chunk ${chunk.number} has ${chunk.message_count} messages, not ${range.length}`);
    const tokens = range.reduce((sum, one) => sum + one.tokens, 0);
    if (tokens !== chunk.message_tokens)
      faults.push(`chunk ${chunk.number} has ${chunk.message_tokens} tokens, not ${tokens}`);
    covered = chunk.last_seq;
  }
  if (record.covered_seq !== covered)
    faults.push(`covered up to ${covered}, the record says ${record.covered_seq}`);
  const active = observed.filter(({ state }) => state !== "buffered").at(-1)?.last_seq ?? 0;
  if (record.cursor_seq !== active) faults.push(`active up to ${active}, the cursor is ${record.cursor_seq}`);
  const pending = messages.filter(({ seq }) => seq > record.cursor_seq);
  const tokens = pending.reduce((sum, one) => sum + one.tokens, 0);
  if (record.pending_count >= 0) {
    if (pending.length !== record.pending_count)
      faults.push(`${pending.length} pending, the record says ${record.pending_count}`);
    if (tokens !== record.pending_tokens)
      faults.push(`${tokens} tokens pending, the record says ${record.pending_tokens}`);
  }
  const log = chunks.filter(({ state }) => state === "active").reduce((sum, chunk) => sum + chunk.tokens, 0);
  if (log !== record.log_tokens)
    faults.push(`the log has ${log} tokens, the record says ${record.log_tokens}`);
  const open = jobs.filter(({ kind, state }) => kind === "observe" && state !== "done");
  const planned = messages.findIndex(({ id }) => id === record.planned_id);
  const coveredTo = messages.findLastIndex(({ seq }) => seq <= covered);
  if (planned > coveredTo && open.length === 0) faults.push("messages with a job, and the job is not there");
  return faults;
}

export async function waitingEvents(storage: Storage): Promise<number> {
  return storage.count({ table: OM_EVENTS });
}
