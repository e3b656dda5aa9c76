import type { StoredMessage } from "@selvedge/protocol";
import { checkAnswer } from "../run/check-answer.ts";
import type { Decision, Resumption } from "../run/resume.ts";
import type { Run } from "../run/run.ts";
import { AgentError } from "../errors.ts";
import { FairTable } from "../guard/fair-table.ts";
import { RESOURCE_ID_KEY } from "../request-context/request-context.ts";
import type { StepRecord } from "../run/run-journal.ts";

/** In all, and for one resource where a server says whose a run is. */
const LIMITS = { total: 1000, each: 100 };

/**
 * Runs without a thread that wait for an answer. They exist only in this process. Their number is limited, in total and per
 * resource. A run that must outlive the process belongs on a thread.
 */
export class ParkedRuns {
  readonly #runs = new FairTable<{ run: Run; step: StepRecord }>(LIMITS);
  /** Runs that continue with one call answered. Their other calls can be answered when they wait again. */
  readonly #going = new Map<string, { answered: string; stopped: Promise<void>; stop(): void }>();

  /** Called before anybody hears of the calls that wait, so that an answer finds them. */
  park(run: Run, step: StepRecord): void {
    const { runId, resourceId, requestContext } = run.spec;
    const said: unknown = resourceId ?? requestContext.get(RESOURCE_ID_KEY);
    this.#runs.set(runId, typeof said === "string" ? said : undefined, { run, step });
    this.#stops(runId);
  }

  /** The run does not wait after all, or is over. */
  drop(run: Run): void {
    const { runId } = run.spec;
    if (this.#runs.get(runId)?.run === run) this.#runs.delete(runId);
    this.#stops(runId);
  }

  has(runId: string): boolean {
    return this.#runs.has(runId) || this.#going.has(runId);
  }

  /** Continues a run with one of its calls answered. If `goOn` fails, the run waits as before. */
  async answer(
    runId: string,
    toolCallId: string | undefined,
    decision: Decision,
    goOn: (parked: Run, resumption: Resumption) => Promise<Run>,
  ): Promise<Run> {
    await this.#going.get(runId)?.stopped;
    const parked = this.#runs.get(runId);
    if (!parked) throw new AgentError("not-found", `No run "${runId}" is waiting for an answer.`);
    const { run, step } = parked;
    const waiting = run.openCalls.filter(
      (call) => toolCallId === undefined || call.toolCallId === toolCallId,
    );
    if (waiting.length !== 1) {
      throw new AgentError(
        waiting.length === 0 ? "not-found" : "ambiguous",
        waiting.length === 0
          ? `Tool call "${toolCallId}" of run "${runId}" is not waiting for an answer.`
          : `Several tool calls of run "${runId}" are waiting. Choose one with toolCallId.`,
      );
    }
    const call = waiting[0]!;
    const answer = await checkAnswer(call, decision);
    const answered = call.toolCallId;
    if (this.#runs.get(runId) !== parked) {
      if (this.#going.get(runId)?.answered !== answered) return this.answer(runId, answered, decision, goOn);
      throw new AgentError("already-decided", `Tool call "${answered}" has already been decided.`);
    }
    this.#runs.delete(runId);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#going.set(runId, { answered, stopped: promise, stop: resolve });
    try {
      return await goOn(run, toResumption(run, step, answered, answer));
    } catch (error) {
      this.park(run, step);
      throw error;
    }
  }

  #stops(runId: string): void {
    this.#going.get(runId)?.stop();
    this.#going.delete(runId);
  }
}

function toResumption(run: Run, step: StepRecord, answered: string, answer: Decision): Resumption {
  // The run may be about to end, so it keeps its own copy.
  const parts = step.parts.map((part) =>
    part.type === "tool-invocation" ? { ...part, toolInvocation: { ...part.toolInvocation } } : part,
  );
  return {
    runId: run.spec.runId,
    options: run.spec.options,
    step: step.stepNumber,
    next: "continue",
    responseId: step.message.id,
    usage: step.usage,
    begun: true,
    abort: false,
    parts,
    messages: run.spec.list.get.all
      .db()
      .map((message) => (message.id === step.message.id ? withoutLast(message, parts.length) : message)),
    responseSteps: 0,
    calls: run.openCalls.map((call) => ({
      ...call,
      suspendPayload: call.suspendPayload,
      state: call.toolCallId === answered ? "decided" : "waiting",
      outcome: undefined,
      decision: call.toolCallId === answered ? answer : undefined,
    })),
  };
}

function withoutLast(message: StoredMessage, count: number): StoredMessage {
  const { parts } = message.content;
  return { ...message, content: { ...message.content, parts: parts.slice(0, parts.length - count) } };
}
