import { toControllerMessage } from "@selvedge/protocol/session";
import { AgentError, showValue } from "../errors.ts";
import type { RequestContext } from "../request-context/request-context.ts";
import type { Write } from "../storage/storage.ts";
import type { ThreadDomain } from "../storage/thread-domain.ts";
import { RUNS } from "../storage/thread-tables.ts";
import { update } from "../storage/writes.ts";
import { readQuestions } from "../thread/inspect/questions.ts";
import type { DecidedCall } from "../thread/threads.ts";
import { stateWithAccess } from "./access-grants.ts";
import { categoryOf } from "./categories.ts";
import { modeAfterPlan } from "./check-config.ts";
import { sessionOfRun } from "./run-profile.ts";
import type { SessionCore } from "./session-core.ts";
import type { StoredSession } from "./session-domain.ts";
import { modeChange } from "./session-mode.ts";
import { withGrants } from "./session-permissions.ts";
import type { PlanDecision } from "./tools/submit-plan.ts";

/** A waiting call that was answered. */
export interface Answered {
  runId: string;
  toolCallId: string;
}

export interface ApprovalResponse {
  decision: "approve" | "decline" | "always_allow_category";
  /** Needed if several calls wait. */
  toolCallId?: string;
  declineContext?: { reason?: string; message?: string };
  requestContext?: RequestContext;
}

export interface SuspensionResponse {
  resumeData: unknown;
  /** Needed if several calls wait. */
  toolCallId?: string;
  requestContext?: RequestContext;
}

interface Answer {
  toolCallId: string | undefined;
  approved: boolean;
  requiresApproval: boolean;
  resumeData?: unknown;
  declineContext?: { reason?: string; message?: string } | undefined;
}

/** What changes in the session together with a decision. */
type Follows = (
  call: DecidedCall,
) => Promise<{ write: Write; session: StoredSession; also?: Write[] } | undefined>;

const INTERRUPTED = "interrupted_by_user_message";

/** Answers to the calls that wait in a session: those of its run and of its subagents. */
export class SessionAnswers {
  readonly #core: SessionCore;
  #decisions: Promise<void> = Promise.resolve();

  constructor(core: SessionCore) {
    this.#core = core;
  }

  /** Answers a call that waits for permission. */
  async toApproval(response: ApprovalResponse): Promise<Answered> {
    const { decision, toolCallId, declineContext } = response ?? {};
    if (decision !== "approve" && decision !== "decline" && decision !== "always_allow_category")
      throw new AgentError(
        "invalid-argument",
        `decision must be "approve", "decline" or "always_allow_category", got ${showValue(decision)}.`,
      );
    return this.#decide(
      { toolCallId, approved: decision !== "decline", declineContext, requiresApproval: true },
      decision === "always_allow_category" ? (call) => this.#grantFor(call) : undefined,
    );
  }

  /** Answers a tool that asked: a question, a plan, or any other that suspended its call. */
  async toSuspension(response: SuspensionResponse): Promise<Answered> {
    const { resumeData, toolCallId } = response ?? {};
    if (resumeData === undefined)
      throw new AgentError(
        "invalid-argument",
        "resumeData is missing. Pass the answer that the tool waits for.",
      );
    const isYes = (Object(resumeData) as Partial<PlanDecision>).action === "approved";
    const answer = { toolCallId, approved: true, resumeData, requiresApproval: false };
    return this.#decide(answer, async (call) => {
      const isPlan = call.toolName === "submit_plan" && call.parentToolCallId === undefined;
      if (isPlan && isYes) return this.#carryOutPlan(call);
      const { row } = this.#core;
      const state = stateWithAccess(row.state, call, resumeData);
      return state && this.#core.next(row, { state });
    });
  }

  /** A person who writes instead of giving permission declines the call. */
  async interrupt(runId: string): Promise<void> {
    const { host, row } = this.#core;
    const threadId = this.#core.requireThread();
    const questions = await readQuestions(host.storage, { threadId, runId });
    const asking = questions.filter(({ requiresApproval }) => requiresApproval);
    if (asking.length === 0) return;
    const sessionId = await sessionOfRun(host.storage, runId);
    if (sessionId !== undefined && sessionId !== row.id) return;
    for (const { toolCallId } of asking) {
      const declineContext = { reason: INTERRUPTED, message: "The user sent a message instead." };
      try {
        await this.#decide({ toolCallId, approved: false, declineContext, requiresApproval: true });
      } catch (error) {
        if (!AgentError.is(error, "already-decided") && !AgentError.is(error, "not-found")) throw error;
      }
    }
  }

  /** In order: of two answers to one question, the first counts. */
  #decide(answer: Answer, follows?: Follows): Promise<Answered> {
    const turn = this.#decisions.then(() => this.#decideNow(answer, follows));
    this.#decisions = turn.then(
      () => {},
      () => {},
    );
    return turn;
  }

  async #decideNow(answer: Answer, follows: Follows | undefined): Promise<Answered> {
    await this.#core.ready();
    this.#core.checkOpen();
    const { host, row } = this.#core;
    const { requiresApproval, declineContext, toolCallId, ...rest } = answer;
    const threadId = this.#core.requireThread();
    const id = toolCallId ?? (await this.#onlyOne(threadId, requiresApproval));
    let made: StoredSession | undefined;
    const decided = host.agent.sendToolApproval(
      {
        threadId,
        resourceId: row.resourceId,
        toolCallId: id,
        ...rest,
        ...(declineContext && { declineContext }),
      },
      async (call) => {
        if (call.requiresApproval !== requiresApproval) throw otherKind(call);
        if (!follows) return [];
        // Called again after a conflict, possibly with a changed row.
        await this.#core.refresh();
        const change = await follows(call);
        made = change?.session;
        return change ? [change.write, ...(change.also ?? [])] : [];
      },
    );
    const { runId } = await decided.catch(async (error: unknown) => {
      if (AgentError.is(error, "not-found") && (await hasResult(await host.memory(), threadId, id)))
        throw new AgentError("already-decided", `Tool call "${id}" has already been decided.`);
      throw error;
    });
    if (made) this.#core.made(made);
    return { runId, toolCallId: id };
  }

  /** The default call: the only one that waits for this kind of answer. */
  async #onlyOne(threadId: string, requiresApproval: boolean): Promise<string> {
    const questions = await readQuestions(this.#core.host.storage, { threadId });
    const [first, ...more] = questions.filter((question) => question.requiresApproval === requiresApproval);
    if (!first)
      throw new AgentError(
        "not-found",
        `No tool call of thread "${threadId}" waits for ${requiresApproval ? "permission" : "an answer"}.`,
      );
    if (more.length > 0)
      throw new AgentError(
        "ambiguous",
        `Several tool calls of thread "${threadId}" are waiting. Choose one with toolCallId (${[first, ...more].map((one) => one.toolCallId).join(", ")}).`,
      );
    return first.toolCallId;
  }

  /** "Always" applies to the tool's category, or to the tool if it has none. */
  async #grantFor({ toolName }: DecidedCall): Promise<{ write: Write; session: StoredSession }> {
    const { host, row } = this.#core;
    const category = categoryOf(host.config, toolName);
    const what = category === null ? { tools: [toolName] } : { categories: [category] };
    return this.#core.next(row, { grants: withGrants(row.grants, what) });
  }

  /** A plan was approved: the session and the run that made the plan continue in the mode that follows. */
  async #carryOutPlan({
    runId,
  }: DecidedCall): Promise<{ write: Write; session: StoredSession; also: Write[] } | undefined> {
    const { host, row } = this.#core;
    const mode = modeAfterPlan(host.config, row.modeId);
    if (mode.id === row.modeId) return undefined;
    const { patch, also } = await modeChange(this.#core, row, mode);
    const profile = { sessionId: row.id, modeId: mode.id, modelId: patch.modelId ?? row.modelId };
    const pinned = update(RUNS, { where: { id: runId }, merge: { options: { profile } } });
    return { ...this.#core.next(row, patch), also: [...also, pinned] };
  }
}

/** Permission is not an answer to a question, and an answer is not permission. */
function otherKind({ toolCallId, requiresApproval }: DecidedCall): AgentError {
  const [what, how] = requiresApproval
    ? ["permission", "respondToToolApproval"]
    : ["an answer", "respondToToolSuspension"];
  return new AgentError("invalid-argument", `Tool call "${toolCallId}" waits for ${what}. Use ${how}().`);
}

/** How many messages back an answer may refer to, and how many subagents. */
const RECENT = 20;
const RECENT_SUBAGENTS = 5;

/** Whether a call of a thread has a result: it was then decided, although its run no longer has a record of that. */
async function hasResult(memory: ThreadDomain, threadId: string, toolCallId: string): Promise<boolean> {
  const { threads } = await memory.listThreads({
    filter: { metadata: { parentThreadId: threadId } },
    orderBy: { field: "updatedAt" },
    perPage: RECENT_SUBAGENTS,
    includeSubagents: true,
  });
  for (const id of [threadId, ...threads.map((thread) => thread.id)]) {
    const messages = await memory.recentMessages({ threadId: id, limit: RECENT });
    const parts = messages.flatMap((message) => toControllerMessage(message).content);
    if (parts.some((part) => part.type === "tool_result" && part.id === toolCallId)) return true;
  }
  return false;
}
