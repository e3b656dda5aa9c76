import { Agent } from "@selvedge/core/agent";
import { realSystem, type System } from "@selvedge/core/memory";
import type { ModelConfig } from "@selvedge/core/model";
import { RequestContext } from "@selvedge/core/request-context";
import { InMemoryStorage } from "@selvedge/core/storage";
import { createTool } from "@selvedge/core/tools";
import { Memory, type MemoryWarning, type ObservationalMemoryOptions } from "@selvedge/memory";
import { type ScriptedCall, type ScriptedModel, scriptedModel } from "@selvedge/testing";
import { type Conversation, type Fact, FACT_KINDS, type FactKind, type Turn } from "./conversation.ts";
import { judgeFact, sentencesOf, sharedPrefix } from "./judge.ts";
import { textOf } from "./roles.ts";

export interface Measured {
  facts: number;
  /** Facts that the prompt after the last turn shows as they are. */
  inPrompt: number;
  /** Facts that it shows, or that `recall` finds. */
  reachable: number;
  /** Facts that a prompt showed as current after they had changed: after the last turn, and in the worst turn. */
  stale: number;
  worstStale: number;
  byKind: Record<FactKind, { facts: number; inPrompt: number; reachable: number }>;
  /** Tokens, about. */
  meanPrompt: number;
  largestPrompt: number;
  /** All prompts by what they would be with the full history. */
  promptShare: number;
  /** The part of all prompts that a provider's cache would hold. */
  cachedShare: number;
  /** Tokens read and written by observer and reflector, for each token of the conversation. */
  roleTokens: number;
  observations: number;
  reflections: number;
  warnings: MemoryWarning[];
}

export interface MeasureOptions {
  conversation: Conversation;
  observer: ModelConfig;
  reflector: ModelConfig;
  scope: "thread" | "resource";
  messageTokens: number;
  observationTokens: number;
  onTurn?: (turn: number) => void;
}

const INSTRUCTIONS = "You are a friendly assistant.";
const CHARACTERS_PER_TOKEN = 4;
const RESOURCE = "ada";

/** Holds a conversation with observational memory, and looks for its facts. */
export async function measure(options: MeasureOptions): Promise<Measured> {
  const { conversation, observer, reflector, scope, messageTokens, observationTokens } = options;
  const { turns, facts } = conversation;
  const calendar = { now: turns[0]!.at.getTime() };
  const system: System = { ...realSystem, now: () => calendar.now };
  let turn: Turn = turns[0]!;
  const model = scriptedModel((call) => reply(turn, call));
  const warnings: MemoryWarning[] = [];
  const observationalMemory: ObservationalMemoryOptions = {
    scope,
    retrieval: true,
    observation: { model: observer, messageTokens },
    reflection: { model: reflector, observationTokens },
  };
  const memory = new Memory({
    storage: new InMemoryStorage(),
    system,
    onWarning: (warning) => warnings.push(warning),
    options: { lastMessages: 4, observationalMemory },
  });
  const tools = { register: tool("register", () => turn), look_up: tool("look_up", () => turn) };
  const agent = new Agent({
    id: "judged",
    name: "judged",
    instructions: INSTRUCTIONS,
    model,
    memory,
    tools,
    system,
  });
  const talk = async (next: Turn): Promise<string[]> => {
    turn = next;
    calendar.now = next.at.getTime();
    await agent.generate(next.user, { memory: { thread: next.thread, resource: RESOURCE }, maxSteps: 3 });
    await memory.settled();
    return model.calls.at(-1)!.prompt.map(textOf);
  };

  const sums = { prompt: 0, full: 0, largest: 0, shared: 0, total: 0, worstStale: 0, said: 0 };
  let history = INSTRUCTIONS.length;
  let previous: string[] = [];
  for (const [index, one] of turns.entries()) {
    const prompt = await talk(one);
    options.onTurn?.(index);
    const said = one.user.length + JSON.stringify(one.call ?? "").length;
    sums.said += said + one.answer.length;
    if (one.thread === "other") continue;
    history += said;
    const { shared, total } = sharedPrefix(previous, prompt);
    previous = prompt;
    sums.prompt += total;
    sums.full += history;
    sums.largest = Math.max(sums.largest, total);
    sums.shared += shared;
    sums.total += total;
    history += one.answer.length;
    const known = sentencesOf(prompt);
    const stale = facts.filter((fact) => fact.knownFrom < index && judgeFact(fact, known) === "stale").length;
    sums.worstStale = Math.max(sums.worstStale, stale);
  }

  const at = new Date(turns.at(-1)!.at.getTime() + 86_400_000);
  const last = await talk({ at, thread: "main", user: "What do you know about me?", answer: "A lot." });
  const sentences = sentencesOf(last);
  const recall = await recallIn(memory, model);
  const byKind = Object.fromEntries(
    FACT_KINDS.map((kind) => [kind, { facts: 0, inPrompt: 0, reachable: 0 }]),
  ) as Measured["byKind"];
  let stale = 0;
  for (const fact of facts) {
    const verdict = judgeFact(fact, sentences);
    const kind = byKind[fact.kind];
    kind.facts++;
    if (verdict === "stale") stale++;
    if (verdict === "shown") kind.inPrompt++;
    if (verdict === "shown" || (await isRecalled(fact, recall))) kind.reachable++;
  }
  const turnCount = turns.filter(({ thread }) => thread === "main").length;
  const roles = [observer, reflector].map((role) => (role as Partial<ScriptedModel>).calls ?? []);
  const kinds = Object.values(byKind);
  const result: Measured = {
    facts: facts.length,
    inPrompt: kinds.reduce((sum, kind) => sum + kind.inPrompt, 0),
    reachable: kinds.reduce((sum, kind) => sum + kind.reachable, 0),
    stale,
    worstStale: sums.worstStale,
    byKind,
    meanPrompt: Math.round(sums.prompt / turnCount / CHARACTERS_PER_TOKEN),
    largestPrompt: Math.round(sums.largest / CHARACTERS_PER_TOKEN),
    promptShare: sums.prompt / sums.full,
    cachedShare: sums.shared / sums.total,
    roleTokens:
      roles.flat().reduce((sum, { prompt }) => sum + prompt.map(textOf).join("").length, 0) / sums.said,
    observations: roles[0]!.length,
    reflections: roles[1]!.length,
    warnings,
  };
  await agent.close();
  return result;
}

function reply(
  turn: Turn,
  { prompt }: ScriptedCall,
): string | { toolCalls: { toolName: string; input: unknown }[] } {
  const { call, answer } = turn;
  if (!call || prompt.at(-1)?.role === "tool") return answer;
  return { toolCalls: [{ toolName: call.toolName, input: call.input }] };
}

function tool(id: string, turn: () => Turn): ReturnType<typeof createTool> {
  return createTool({
    id,
    description: id,
    inputSchema: { type: "object" },
    execute: async () => turn().call?.result,
  });
}

type Recall = (input: object) => Promise<{ messages?: string; notes?: string; hasNextPage?: boolean }>;

/** The tool as a run on the main thread gets it. */
async function recallIn(memory: Memory, model: ScriptedModel): Promise<Recall> {
  const run = { threadId: "main", resourceId: RESOURCE, config: undefined, model, system: realSystem };
  const { tools } = await memory.prepareRun({
    ...run,
    requestContext: new RequestContext(),
  } as never);
  const { execute } = (tools as Record<string, { execute(call: object): Promise<unknown> }>)["recall"]!;
  return async (input) => (await execute({ context: input })) as Awaited<ReturnType<Recall>>;
}

/** Whether a model that looks for a fact finds it: by its words, or by reading what tools said. */
async function isRecalled(fact: Fact, recall: Recall): Promise<boolean> {
  const says = ({ messages = "", notes = "" }: Awaited<ReturnType<Recall>>): boolean => {
    const sentences = sentencesOf([notes, messages]);
    const wanted = [fact.value ?? "no longer valid", ...(fact.said === undefined ? [] : [fact.said])];
    const isAbout = (sentence: string): boolean => sentence.includes(fact.thing);
    return sentences.some((sentence) => isAbout(sentence) && wanted.some((one) => sentence.includes(one)));
  };
  if (says(await recall({ mode: "search", query: fact.thing, limit: 20 }))) return true;
  for (let page = 1; page <= 50; page++) {
    const answer = await recall({ anchor: "start", page, limit: 20, partType: "tool" });
    if (says(answer)) return true;
    if (!answer.hasNextPage) return false;
  }
  return false;
}
