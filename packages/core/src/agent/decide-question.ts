import { subagentWaitOf } from "@selvedge/protocol/session";
import { AgentError } from "../errors.ts";
import type { Decision } from "../run/resume.ts";
import { RUNS } from "../storage/thread-tables.ts";
import { abortSubagent, goOn, type Question, readQuestions } from "../thread/inspect/questions.ts";
import { ownerOfThread } from "../thread/inspect/thread-overview.ts";
import type { CallAddress, DecidedCall, DecideOptions, Threads } from "../thread/threads.ts";

/** The call waits for its subagent, which asks the question. */
class AskedBySubagent extends Error {}

/**
 * Answers a call that waits on a thread: one of its run, or one of a subagent of that run. The calls that wait with a
 * subagent's continue in the same commit.
 */
export async function decideQuestion(
  threads: Threads,
  address: CallAddress,
  decision: Decision,
  { alongside }: DecideOptions = {},
): Promise<{ runId: string; toolCallId: string }> {
  const dropped: { threadId: string; resourceId: string }[] = [];
  try {
    const decided = await threads.decide(address, decision, {
      alongside: async (call) => {
        const wait = subagentWaitOf(call);
        if (wait && decision.approved) throw new AskedBySubagent();
        if (wait) dropped.push(wait);
        return [...(wait ? [abortSubagent(wait)] : []), ...((await alongside?.(call)) ?? [])];
      },
    });
    for (const subagent of dropped) threads.mailMayHaveCome(subagent);
    return decided;
  } catch (error) {
    if (!(error instanceof AskedBySubagent) && !AgentError.is(error, "not-found")) throw error;
    const asked = await questionsAt(threads, address);
    const question =
      asked.find(({ toolCallId }) => toolCallId === address.toolCallId) ?? onlyOne(address, asked);
    if (question) return decideForSubagent(threads, question, decision, alongside);
    throw error instanceof AskedBySubagent ? chooseOne(address, asked) : error;
  }
}

/** What subagents ask on a thread, or for a run. Nothing on a thread of another owner. */
async function questionsAt(threads: Threads, address: CallAddress): Promise<Question[]> {
  const { storage } = threads;
  if ("runId" in address) {
    const { runId, agentId } = address;
    const [run] = await storage.select({ table: RUNS, where: { id: runId, agent_id: agentId }, limit: 1 });
    return run ? ofSubagents(await readQuestions(storage, { threadId: run.thread_id, runId })) : [];
  }
  const { threadId, resourceId } = address;
  if (resourceId !== undefined && (await ownerOfThread(storage, threadId)) !== resourceId) return [];
  return ofSubagents(await readQuestions(storage, { threadId }));
}

function ofSubagents(questions: readonly Question[]): Question[] {
  return questions.filter(({ parents }) => parents.length > 0);
}

function onlyOne({ toolCallId }: CallAddress, asked: readonly Question[]): Question | undefined {
  return toolCallId === undefined && asked.length === 1 ? asked[0] : undefined;
}

function chooseOne({ toolCallId }: CallAddress, asked: readonly Question[]): AgentError {
  const ids = asked.map((question) => question.toolCallId).join(", ");
  return toolCallId === undefined
    ? new AgentError("ambiguous", `Several subagent calls are waiting. Choose one with toolCallId (${ids}).`)
    : new AgentError(
        "invalid-argument",
        `Tool call "${toolCallId}" waits for its subagent. Answer what the subagent asks: ${ids}.`,
      );
}

async function decideForSubagent(
  threads: Threads,
  question: Question,
  decision: Decision,
  alongside: DecideOptions["alongside"],
): Promise<{ runId: string; toolCallId: string }> {
  const { threadId, resourceId, toolCallId, parents } = question;
  const decided = await threads.decide({ threadId, resourceId, toolCallId }, decision, {
    alongside: async (call) => {
      const told: DecidedCall = { ...call, parentToolCallId: parents.at(-1)!.toolCallId };
      return [...goOn(question), ...((await alongside?.(told)) ?? [])];
    },
  });
  for (const parent of parents) threads.mailMayHaveCome(parent);
  return decided;
}
