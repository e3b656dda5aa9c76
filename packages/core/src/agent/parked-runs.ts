import type { StoredMessage } from "@selvedge/protocol";
import { checkAnswer } from "../run/check-answer.ts";
import type { Decision, Resumption } from "../run/resume.ts";
import type { Run } from "../run/run.ts";
import { AgentError } from "../errors.ts";
import { FairTable } from "../guard/fair-table.ts";
import { RESOURCE_ID_KEY } from "../request-context/request-context.ts";
import type { StepRecord } from "../run/run-thread.ts";

/** In all, and for one resource where a server says whose a run is. */
const LIMITS = { total: 1000, each: 100 };

/**
 * Runs without a thread that wait for an answer. They live in this process alone, and only so many of them, of nobody more than a
 * share: a run that must outlive the process belongs on a thread.
 */
export class ParkedRuns {
  readonly #runs = new FairTable<{ run: Run; step: StepRecord }>(LIMITS);

  /** Called before anybody hears of the calls that wait, so that an answer finds them. */
  park(run: Run, step: StepRecord): void {
    const { runId, resourceId, requestContext } = run.spec;
    const said: unknown = resourceId ?? requestContext.get(RESOURCE_ID_KEY);
    this.#runs.set(runId, typeof said === "string" ? said : undefined, { run, step });
  }

  /** The run does not wait after all. */
  drop(run: Run): void {
    if (this.#runs.get(run.spec.runId)?.run === run) this.#runs.delete(run.spec.runId);
  }

  has(runId: string): boolean {
    return this.#runs.has(runId);
  }

  /** Takes a run out with one of its calls answered. */
  async answer(
    runId: string,
    toolCallId: string | undefined,
    decision: Decision,
  ): Promise<{ run: Run; resumption: Resumption }> {
    const { run, step } = this.#runs.get(runId)!;
    const waiting = run.openCalls.filter(
      (call) => toolCallId === undefined || call.toolCallId === toolCallId,
    );
    if (waiting.length !== 1) {
      throw new AgentError(
        waiting.length === 0 ? "not-found" : "ambiguous",
        waiting.length === 0
          ? `Tool call "${toolCallId}" of run "${runId}" does not wait for an answer.`
          : `Several tool calls of run "${runId}" wait: say which one with toolCallId.`,
      );
    }
    const call = waiting[0]!;
    const answer = await checkAnswer(call, decision);
    const answered = call.toolCallId;
    if (!this.#runs.delete(runId))
      throw new AgentError("already-decided", `Tool call "${answered}" was decided meanwhile.`);
    // The run may still be about to end, so it keeps its own copy of what goes on.
    const parts = step.parts.map((part) =>
      part.type === "tool-invocation" ? { ...part, toolInvocation: { ...part.toolInvocation } } : part,
    );
    return {
      run,
      resumption: {
        runId,
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
        responseSteps: new Map(),
        calls: run.openCalls.map((call) => ({
          ...call,
          suspendPayload: call.suspendPayload,
          state: call.toolCallId === answered ? "decided" : "waiting",
          outcome: undefined,
          decision: call.toolCallId === answered ? answer : undefined,
        })),
      },
    };
  }
}

function withoutLast(message: StoredMessage, count: number): StoredMessage {
  const { parts } = message.content;
  return { ...message, content: { ...message.content, parts: parts.slice(0, parts.length - count) } };
}
