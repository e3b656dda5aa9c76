import { refuseOwnRun, outsideRuns } from "../run/current-run.ts";
import { runLoop } from "../run/loop.ts";
import type { MessagesInput } from "../message/message-input.ts";
import { agentChunk } from "../run/model-part-chunk.ts";
import { Patience } from "../patience.ts";
import type { Resumption } from "../run/resume.ts";
import { Run, type RunSpec } from "../run/run.ts";
import type { AgentExecutionOptions } from "../run/run-options.ts";
import { reviveOptions } from "../run/stored-options.ts";
import type { RunAssignment, RunCarrier } from "../thread/threads.ts";
import { scoringDataOf } from "../run/scoring-data.ts";
import { scoreLive } from "../scorer/score-live.ts";
import { meetsFilter } from "../workflow/score-filter.ts";
import type { AgentEnvironment } from "./agent-environment.ts";
import { checkCallId, type checkDecision } from "./check-decision.ts";
import { checkOptions } from "./check-options.ts";
import { decideQuestion } from "./decide-question.ts";
import { ExpectedRuns } from "./expected-runs.ts";
import { ParkedRuns } from "./parked-runs.ts";
import { DEFAULT_RUN_LIMITS, resolveRun, type RunStart } from "./resolve-run.ts";

/** Answers a waiting call and continues its run. The other options are for the rest of the run. */
export type AnswerCallOptions = AgentExecutionOptions & {
  runId: string;
  toolCallId?: string;
  resumeData?: unknown;
};

const MAX_LIVE = 10_000;

/** All runs of an agent: those that a call starts, those that a message opened, and those that are continued. */
export class AgentRuns implements RunCarrier {
  readonly #environment: AgentEnvironment;
  readonly #parked = new ParkedRuns();
  readonly #expected = new ExpectedRuns();
  /** Options of active and waiting runs, with everything that the store cannot hold, such as tools and functions. */
  readonly #live = new Map<string, AgentExecutionOptions>();
  readonly #endListeners = new Set<(threadId: string) => void>();

  constructor(environment: AgentEnvironment) {
    this.#environment = environment;
  }

  get id(): string {
    return this.#environment.id;
  }

  /** Starts the run of a call. It continues by itself. */
  async start(
    messages: MessagesInput,
    options: AgentExecutionOptions | undefined,
    resumption?: Resumption,
  ): Promise<Run> {
    const run = new Run(await this.#prepare(messages, options));
    if (run.spec.journal) this.#remember(run.spec.runId, run.spec.options);
    void this.#carryOut(run, resumption);
    return run;
  }

  /** Answers a waiting call of a run and continues the run. */
  async answer(options: AnswerCallOptions, decision: ReturnType<typeof checkDecision>): Promise<Run> {
    const { runId, toolCallId, resumeData: _, ...rest } = options;
    checkOptions(rest);
    if (this.#parked.has(runId)) {
      return this.#parked.answer(runId, toolCallId, decision, (parked, resumption) => {
        // Its context is among the messages already.
        const { threadId: _t, resourceId: _r, memory: _m, context: _c, ...before } = parked.spec.options;
        return this.start([], { ...before, ...rest, runId }, resumption);
      });
    }
    refuseOwnRun(runId);
    const threads = await this.#environment.threads();
    const isInLine = () => threads.known({ runId })?.isInLine ?? false;
    const expected = this.#expected.expect(runId, rest, this.#environment.system, isInLine);
    try {
      const address = { runId, agentId: this.id, toolCallId: checkCallId(toolCallId) };
      await decideQuestion(threads, address, decision);
    } catch (error) {
      expected.forget();
      throw error;
    }
    return expected.run;
  }

  /** Takes up a run whose thread this process holds. */
  async takeUp(assignment: RunAssignment): Promise<void> {
    const { runId, journal, opener, resumption } = assignment;
    const expected = resumption ? this.#expected.take(runId) : [];
    const controller = new AbortController();
    try {
      journal.abortWith(controller);
      const own = expected.map((one) => one.options);
      const options: AgentExecutionOptions = opener
        ? (opener.live ?? reviveOptions(opener.options))
        : Object.assign({}, resumption?.options, this.#live.get(runId), ...own);
      const spec = await this.#prepareFor(assignment, options, controller.signal);
      const run = new Run(spec);
      if (controller.signal.aborted) run.controller.abort();
      if (opener) this.#remember(runId, options);
      for (const { resolve } of expected) resolve(run);
      await outsideRuns(() => this.#carryOut(run, resumption));
    } catch (error) {
      for (const { reject } of expected) reject(error);
      await this.#failToStart(assignment, controller.signal.aborted, error);
    }
  }

  /** Calls back when a run that this process carried out on a thread has ended. */
  onEnd(listener: (threadId: string) => void): () => void {
    this.#endListeners.add(listener);
    return () => this.#endListeners.delete(listener);
  }

  /** Carries out a run and sees to its end. Every run of the agent comes through here, with a thread or without. */
  async #carryOut(run: Run, resumption?: Resumption): Promise<void> {
    if (resumption) await this.#cancelWorkflows(run, resumption);
    await runLoop(run, resumption);
    // A run that waits may continue here, so its options are kept.
    if (run.status === "suspended") return;
    if (run.status === "success") this.#score(run);
    const { journal, runId, threadId } = run.spec;
    if (!journal) return this.#parked.drop(run);
    this.#live.delete(runId);
    this.#tellEnd(threadId!);
  }

  #score({ spec, span }: Run): void {
    const scorers = spec.options.scorers ?? this.#environment.config.scorers;
    if (!scorers) return;
    const { runId, agent, threadId, resourceId, requestContext, logger } = spec;
    const work = {
      owner: `agent "${agent.name}"`,
      runId,
      entityId: agent.id,
      entityType: "AGENT" as const,
      threadId,
      resourceId,
      requestContext,
      ...scoringDataOf(spec),
      // The host's store comes first: its routes list scores.
      storage: this.#environment.host?.getStorage() ?? spec.storage,
      logger,
      traceId: span && isTrace(span.traceId) ? span.traceId : undefined,
      findScorer: (id: string) => this.#environment.host?.getScorerById?.(id),
      meets: meetsFilter,
    };
    spec.waitUntil(scoreLive(scorers, work));
  }

  /** Called before the run continues. If the process dies, the next one calls it again. */
  async #cancelWorkflows(run: Run, resumption: Resumption): Promise<void> {
    const { workflows, logger } = this.#environment;
    await workflows
      .cancelFor(resumption, run.controller.signal.aborted)
      .catch((error: unknown) => logger.error(`A workflow of run ${run.spec.runId} was not canceled`, error));
  }

  #prepare(
    messages: MessagesInput,
    options: AgentExecutionOptions | undefined,
    start?: RunStart,
  ): Promise<RunSpec> {
    const park: RunSpec["park"] = (run, step) => this.#parked.park(run, step);
    return resolveRun(this.#environment, park, messages, options, start);
  }

  /** Functions of the app may make what an agent is made of, and may never return. */
  async #prepareFor(
    { threadId, resourceId, runId, journal, opener }: RunAssignment,
    { threadId: _t, resourceId: _r, ...options }: AgentExecutionOptions,
    abortSignal: AbortSignal,
  ): Promise<RunSpec> {
    const { system } = this.#environment;
    const signal = opener?.signal.with({ createdAt: new Date(system.now()) });
    const memory = { ...options.memory, thread: threadId, resource: resourceId };
    const signals = signal && !opener?.messages ? [signal] : [];
    const { processorTimeoutMs } = { ...DEFAULT_RUN_LIMITS, ...options.limits };
    const patience = new Patience(system, abortSignal, processorTimeoutMs);
    try {
      const start = { journal, target: { threadId, resourceId }, signals };
      const preparing = this.#prepare([], { ...options, runId, memory }, start);
      const spec = await patience.for(`Resolving the configuration of agent "${this.id}"`, preparing);
      if (opener?.messages) spec.list.add(opener.messages, "input");
      else if (signal) spec.list.append(signal.toDBMessage({ threadId, resourceId }), "input");
      return spec;
    } finally {
      patience.close();
    }
  }

  /** The run could not even be prepared. A message that opened it counts as seen by it, so it is in the history. */
  async #failToStart(assignment: RunAssignment, aborted: boolean, error: unknown): Promise<void> {
    const { runId, threadId, journal, opener } = assignment;
    const { logger } = this.#environment;
    if (!aborted) logger.error(`Run ${runId} could not ${opener ? "start" : "continue"}`, error);
    if (opener) journal.publish(agentChunk("start", runId, {}));
    const end = aborted
      ? { state: "aborted" as const, chunks: [agentChunk("abort", runId, {})] }
      : { state: "failed" as const, error, chunks: [agentChunk("error", runId, { error })] };
    await journal.end({ ...end, mayContinue: false }).catch((failure: unknown) => {
      journal.abandon();
      logger.error(`The end of run ${runId} could not be stored`, failure);
    });
    this.#tellEnd(threadId);
  }

  #tellEnd(threadId: string): void {
    for (const listener of this.#endListeners) listener(threadId);
  }

  /** What a profile fixed may have changed in the store since. */
  #remember(runId: string, { abortSignal: _, profile: __, ...options }: AgentExecutionOptions): void {
    this.#live.set(runId, options);
    if (this.#live.size > MAX_LIVE) this.#live.delete(this.#live.keys().next().value as string);
  }
}

/** Without an SDK of OpenTelemetry, every trace has the same id: zeros. */
function isTrace(traceId: string): boolean {
  return /[^0]/.test(traceId);
}
