import {
  type SerializedStepGraph,
  WORKFLOW_RUN_STATUSES,
  type WorkflowRunRecord,
  type WorkflowRunStatus,
  type WorkflowState,
} from "@selvedge/protocol";
import { AgentError, showValue } from "../errors.ts";
import { defaultLogger, type Logger } from "../logger.ts";
import type { RequestContext } from "../request-context/request-context.ts";
import type { InferInput, InferOutput, Schema } from "../schema/schema.ts";
import { checkDeclaredSchedules } from "../schedule/declared-schedules.ts";
import { checkId } from "../storage/check-id.ts";
import { realSystem } from "../system.ts";
import { withActiveSteps } from "./active-steps.ts";
import { type AgentLike, isAgentLike } from "./agent-like.ts";
import { agentStep, type AgentStepOptions } from "./agent-step.ts";
import type { Accepts, Chainable, OutputOf, OutputsById } from "./chaining.ts";
import { checkList, checkOptions } from "./check-arguments.ts";
import { checkRetryConfig, checkWorkflowOptions } from "./check-config.ts";
import { checkConcurrency } from "./choose.ts";
import { type Concurrency, type GraphScope, membersOf, type SleepFunction } from "./graph.ts";
import { GraphBuilder } from "./graph-builder.ts";
import { type MapSource, mapFrom } from "./map-source.ts";
import { MemoryRuns } from "./memory-runs.ts";
import { type ConditionInput, toCondition } from "./predicate.ts";
import { Run } from "./run.ts";
import { toRunRecord, toSnapshot, toState, type WorkflowStateField } from "./run-snapshot.ts";
import { isEnd, type RunImage } from "./run-image.ts";
import { SchemaCache } from "./schema-cache.ts";
import { serializeGraph } from "./serialize-graph.ts";
import type { ExecuteParams, Step, StepContext } from "./step.ts";
import { stepAt } from "./step-at.ts";
import { StoredRuns } from "./stored-runs.ts";
import { toResult } from "./to-result.ts";
import { Tool, type ToolLike } from "../tool/tool.ts";
import { toolStep, type ToolStepOptions } from "./tool-step.ts";
import type { WorkflowConfig, WorkflowOptions } from "./workflow-config.ts";
import type { RunFacts, RunHead, RunnableWorkflow, RunQuery, WorkflowEngine } from "./workflow-engine.ts";
import type { WorkflowHost } from "./workflow-host.ts";
import { MAX_ITERATIONS } from "./workflow-limits.ts";
import type { WorkflowResult } from "./workflow-result.ts";

export interface ListRunsOptions {
  fromDate?: Date;
  toDate?: Date;
  page?: number;
  perPage?: number;
  resourceId?: string;
  status?: WorkflowRunStatus;
}

const ACTIVE: readonly WorkflowRunStatus[] = ["running", "waiting"];
const MAX_PER_PAGE = 1_000;

/**
 * A workflow: steps in an order, built by chaining and closed by `commit()`. It can be a step of another one. `Prev` is
 * what the next step receives.
 */
export class Workflow<Id extends string = string, State = any, In = any, Out = any, Prev = any>
  implements RunnableWorkflow, Step<Id, State, In, Out>
{
  /** Only for the compiler. */
  declare readonly "~step"?: { state: State; input: In; output: Out; resume: any; suspend: any } | undefined;
  declare readonly "~types"?: { init: In } | undefined;
  readonly id: Id;
  readonly description: string | undefined;
  readonly metadata: Record<string, unknown> | undefined;
  readonly inputSchema: Schema;
  readonly outputSchema: Schema;
  readonly stateSchema: Schema | undefined;
  readonly requestContextSchema: Schema | undefined;
  readonly retryConfig: { attempts: number; delay: number };
  readonly options: WorkflowOptions;
  readonly config: WorkflowConfig;
  readonly component = "WORKFLOW";
  readonly #builder: GraphBuilder;
  readonly #schemas = new SchemaCache();
  #host: WorkflowHost | undefined;
  #rules: GraphScope | undefined;
  #serialized: SerializedStepGraph | undefined;
  #memory: MemoryRuns | undefined;

  constructor(config: WorkflowConfig<Id>) {
    this.id = checkId("The id of a workflow", config?.id) as Id;
    for (const name of ["inputSchema", "outputSchema"] as const)
      if (config[name] === undefined)
        throw new AgentError(
          "invalid-argument",
          `Workflow "${this.id}" needs ${name}, for instance z.object({ … }).`,
        );
    this.config = config;
    this.description = config.description;
    this.metadata = config.metadata;
    this.inputSchema = config.inputSchema;
    this.outputSchema = config.outputSchema;
    this.stateSchema = config.stateSchema;
    this.requestContextSchema = config.requestContextSchema;
    this.retryConfig = checkRetryConfig(this.id, config.retryConfig);
    this.options = checkWorkflowOptions(this.id, config.options);
    checkDeclaredSchedules(this.id, config.schedule);
    this.#builder = new GraphBuilder(this.id);
    if (config.mastra) this.useHost(config.mastra);
  }

  /** Called by the host the workflow is registered with. */
  useHost(host: WorkflowHost): void {
    this.#host = host;
  }

  get host(): WorkflowHost | undefined {
    return this.#host;
  }

  get logger(): Logger {
    return this.#host?.logger ?? defaultLogger;
  }

  get committed(): boolean {
    return this.#rules !== undefined;
  }

  /** The part of the workflow that executing its runs needs. Throws if the workflow is empty or not committed. */
  get rules(): GraphScope {
    if (this.#rules) return this.#rules;
    throw new AgentError(
      "invalid-argument",
      this.#builder.isEmpty
        ? `Workflow "${this.id}" has no steps. Add some with .then(), and call .commit().`
        : `Workflow "${this.id}" is not committed. Call .commit() after its last step.`,
    );
  }

  get serializedStepGraph(): SerializedStepGraph {
    return (this.#serialized ??= serializeGraph(this.rules.graph));
  }

  get stepGraph(): GraphScope["graph"]["nodes"] {
    return this.#builder.nodes;
  }

  /** The steps and nested workflows by their ids, except those that are found in the host when they run. */
  get steps(): Record<string, Step> {
    const members = this.#builder.nodes.flatMap(membersOf);
    return Object.fromEntries(
      members.flatMap(({ id, step }) => (typeof step === "object" ? [[id, step]] : [])),
    );
  }

  /** The step at the end of a path of ids, such as one of `suspended`. */
  stepAt(path: readonly string[]): Step | undefined {
    return stepAt(this.rules.graph, path, this.#host);
  }

  /** Adds a step, agent, tool or workflow that runs after the previous one. */
  // oxlint-disable-next-line unicorn/no-thenable -- the name that programs for this API use
  then<const S extends Chainable>(step: S & Accepts<Prev, S>): Workflow<Id, State, In, Out, OutputOf<S>> {
    return this.#add(() => this.#builder.add(this.#builder.member(step)));
  }

  /** Adds an agent as a step. An id is looked up in the host when the step runs. */
  agent(
    agent: AgentLike | string,
    options?: AgentStepOptions,
    { id }: { id?: string } = {},
  ): Workflow<Id, State, In, Out, any> {
    return this.#add(() => {
      if (isAgentLike(agent)) {
        const step = agentStep(agent, options, id);
        return this.#builder.add({ kind: "step", id: step.id, step });
      }
      const agentId = checkId("The id of an agent", agent);
      const own = id ?? agentId;
      const find = (host: WorkflowHost | undefined): Step =>
        agentStep(
          this.#needHost(host, `agent "${agentId}"`).getAgentById(agentId) as AgentLike,
          options,
          own,
        );
      this.#builder.add({ kind: "step", id: own, step: find, component: "AGENT" });
    });
  }

  /** Adds a tool as a step. A name is looked up in the host when the step runs. */
  tool(
    tool: Tool<any, any> | string,
    options?: ToolStepOptions,
    { id }: { id?: string } = {},
  ): Workflow<Id, State, In, Out, any> {
    return this.#add(() => {
      if (tool instanceof Tool) {
        const step = toolStep(tool, options, id);
        return this.#builder.add({ kind: "step", id: step.id, step });
      }
      const name = checkId("The name of a tool", tool);
      const own = id ?? name;
      const find = (host: WorkflowHost | undefined): Step =>
        toolStep(ourTool(name, this.#needHost(host, `tool "${name}"`).getTool(name)), options, own);
      this.#builder.add({ kind: "step", id: own, step: find, component: "TOOL" });
    });
  }

  /** Adds steps that run in parallel with the same input. The output has their outputs by step id. */
  parallel<const S extends readonly Chainable[]>(
    steps: S & { [Index in keyof S]: Accepts<Prev, S[Index]> },
  ): Workflow<Id, State, In, Out, OutputsById<S>> {
    return this.#add(() => {
      const members = checkList("parallel()", steps).map((step) => this.#builder.member(step));
      if (members.length === 0) throw noMembers(this.id, "parallel");
      this.#builder.add({ kind: "parallel", members });
    });
  }

  /** Adds steps with conditions. Every step whose condition is true runs, in parallel. */
  branch<const S extends readonly Chainable[]>(branches: {
    [Index in keyof S]: readonly [ConditionInput<Prev, State>, S[Index] & Accepts<Prev, S[Index]>];
  }): Workflow<Id, State, In, Out, Partial<OutputsById<S>>> {
    return this.#add(() => {
      const pairs = checkList("branch()", branches as readonly (readonly [ConditionInput, Chainable])[]);
      for (const pair of pairs) checkList("branch()", pair);
      const conditions = pairs.map(([condition], index) => toCondition(condition, `branch ${index}`));
      const members = pairs.map(([, step]) => this.#builder.member(step));
      if (members.length === 0) throw noMembers(this.id, "branch");
      this.#builder.add({ kind: "branch", members, conditions });
    });
  }

  /** Repeats a step with its own output while the condition is true. */
  dowhile<const S extends Chainable>(
    step: S & Accepts<Prev, S>,
    condition: ConditionInput<OutputOf<S>, State>,
  ): Workflow<Id, State, In, Out, OutputOf<S>> {
    return this.#loop(step, condition, "dowhile");
  }

  /** Repeats a step with its own output until the condition is true. */
  dountil<const S extends Chainable>(
    step: S & Accepts<Prev, S>,
    condition: ConditionInput<OutputOf<S>, State>,
  ): Workflow<Id, State, In, Out, OutputOf<S>> {
    return this.#loop(step, condition, "dountil");
  }

  #loop(
    step: Chainable,
    given: ConditionInput,
    type: "dowhile" | "dountil",
  ): Workflow<Id, State, In, Out, any> {
    return this.#add(() => {
      const condition = toCondition(given, `The condition of ${type}()`);
      this.#builder.add({ kind: "loop", body: this.#builder.member(step), condition, type });
    });
  }

  /** Executes a step for each item of an array. The output is an array in the same order. */
  foreach<const S extends Chainable>(
    step: Prev extends readonly (infer Item)[] ? S & Accepts<Item, S> : S & NotAList<Prev>,
    options: { concurrency?: Concurrency } = {},
  ): Workflow<Id, State, In, Out, OutputOf<S>[]> {
    return this.#add(() => {
      const { concurrency = 1 } = checkOptions("foreach()", options);
      const body = this.#builder.member(step);
      if (typeof concurrency !== "function") checkConcurrency(body.id, concurrency);
      this.#builder.add({ kind: "foreach", body, concurrency });
    });
  }

  /** Transforms the value between two steps. */
  map<Output>(
    fn: (context: StepContext<Prev, State>) => Output | Promise<Output>,
    options?: { id?: string | null },
  ): Workflow<Id, State, In, Out, Awaited<Output>>;
  map(
    sources: Record<string, MapSource>,
    options?: { id?: string | null },
  ): Workflow<Id, State, In, Out, any>;
  map(
    how: ((context: StepContext<Prev, State>) => unknown) | Record<string, MapSource>,
    options: { id?: string | null } = {},
  ): Workflow<Id, State, In, Out, any> {
    return this.#add(() => {
      const { id } = checkOptions("map()", options);
      const map = typeof how === "function" ? how : mapFrom(checkSources(how));
      const source = typeof how === "function" ? String(how) : JSON.stringify(Object.keys(how));
      this.#builder.add({ kind: "map", id: id ?? this.#builder.idAfter("mapping"), map, source });
    });
  }

  /** Waits for a number of milliseconds. Meanwhile the run is `waiting`, and needs no process. */
  sleep(ms: number | SleepFunction<number>): Workflow<Id, State, In, Out, Prev> {
    return this.#add(() => {
      if (typeof ms !== "function" && !(Number.isFinite(ms) && ms >= 0))
        throw new AgentError(
          "invalid-argument",
          `sleep() needs milliseconds or a function, got ${showValue(ms)}.`,
        );
      this.#builder.add({ kind: "sleep", id: this.#builder.idAfter("sleep"), sleep: { ms } });
    });
  }

  /** Waits until a moment. */
  sleepUntil(date: Date | SleepFunction<Date>): Workflow<Id, State, In, Out, Prev> {
    return this.#add(() => {
      if (typeof date !== "function" && !(date instanceof Date && Number.isFinite(date.getTime())))
        throw new AgentError(
          "invalid-argument",
          `sleepUntil() needs a valid Date or a function, got ${showValue(date)}.`,
        );
      this.#builder.add({ kind: "sleep", id: this.#builder.idAfter("sleep"), sleep: { until: date } });
    });
  }

  /** Completes the definition, so that the workflow can run. */
  commit(): this {
    const { id, description, inputSchema, retryConfig, options } = this;
    if (this.#builder.isEmpty) void this.rules;
    const { validateInputs = true, maxIterations = MAX_ITERATIONS } = options;
    this.#rules = {
      id,
      description,
      inputSchema,
      stateSchema: this.stateSchema,
      graph: this.#builder.build(),
      retryConfig,
      validateInputs,
      maxIterations,
      hooks: options,
      schemas: this.#schemas,
    };
    return this;
  }

  /** Creates a run, or returns the existing run with this id. */
  async createRun(
    options: { runId?: string; resourceId?: string; disableScorers?: boolean } = {},
  ): Promise<Run<In, Out, State>> {
    void this.rules;
    const { resourceId, disableScorers } = checkOptions("createRun()", options);
    const runId =
      options.runId === undefined
        ? (this.#host?.system ?? realSystem).newId({ idType: "run", source: "workflow", entityId: this.id })
        : checkId("runId", options.runId);
    if (resourceId !== undefined) checkId("resourceId", resourceId);
    const known = options.runId === undefined ? undefined : await this.#facts(runId);
    return new Run<In, Out, State>(this as never, this.engine(), {
      runId,
      resourceId: known?.resourceId ?? resourceId,
      disableScorers,
      status: known?.status,
    });
  }

  async listWorkflowRuns(
    options: ListRunsOptions = {},
  ): Promise<{ runs: WorkflowRunRecord[]; total: number }> {
    const { images, total } = await this.engine().list(this.#query(options));
    return { runs: images.map((image) => this.#record(image)), total };
  }

  /** The same without snapshots: it reads no step. */
  async listRunHeads(options: ListRunsOptions = {}): Promise<{ heads: RunHead[]; total: number }> {
    return this.engine().listHeads(this.#query(options));
  }

  #query(options: ListRunsOptions): RunQuery {
    const given = checkOptions("listWorkflowRuns()", options);
    const { fromDate, toDate, page = 0, perPage = 100, resourceId, status } = given;
    if (!(Number.isInteger(perPage) && perPage >= 1 && perPage <= MAX_PER_PAGE))
      throw new AgentError(
        "invalid-argument",
        `perPage must be 1 to ${MAX_PER_PAGE}, got ${showValue(perPage)}.`,
      );
    if (!(Number.isInteger(page) && page >= 0))
      throw new AgentError(
        "invalid-argument",
        `page must be an integer of 0 or more, got ${showValue(page)}.`,
      );
    for (const [name, date] of Object.entries({ fromDate, toDate }))
      if (date !== undefined && !(date instanceof Date && Number.isFinite(date.getTime())))
        throw new AgentError("invalid-argument", `${name} must be a valid Date, got ${showValue(date)}.`);
    if (status !== undefined && !WORKFLOW_RUN_STATUSES.includes(status))
      throw new AgentError(
        "invalid-argument",
        `status must be one of ${WORKFLOW_RUN_STATUSES.join(", ")}, got ${showValue(status)}.`,
      );
    return {
      workflowId: this.id,
      ...(fromDate && { from: fromDate.getTime() }),
      ...(toDate && { to: toDate.getTime() }),
      ...(resourceId !== undefined && { resourceId }),
      ...(status && { statuses: [status] }),
      limit: perPage,
      offset: page * perPage,
    };
  }

  /** Runs that are running or sleeping. */
  async listActiveWorkflowRuns(): Promise<{ runs: WorkflowRunRecord[]; total: number }> {
    const query = { workflowId: this.id, statuses: ACTIVE, limit: MAX_PER_PAGE, offset: 0 };
    const { images, total } = await this.engine().list(query);
    return { runs: images.map((image) => this.#record(image)), total };
  }

  async getWorkflowRunById(
    runId: string,
    options: { fields?: readonly WorkflowStateField[]; withNestedWorkflows?: boolean } = {},
  ): Promise<WorkflowState | null> {
    const found = await this.#load(runId);
    if (!found) return null;
    const image = withActiveSteps(this.rules, found);
    return toState(image, options, this.#snapshot(image));
  }

  /** The result of a run that has ended or waits; `null` if the run is unknown or still running. */
  async getWorkflowRunExecutionResult(runId: string): Promise<WorkflowResult<Out, In, State> | null> {
    const image = await this.#load(runId);
    const rests = image && (isEnd(image.status) || image.status === "suspended" || image.status === "paused");
    return rests ? (toResult(image) as WorkflowResult<Out, In, State>) : null;
  }

  async deleteWorkflowRunById(runId: string): Promise<void> {
    if (await this.#facts(runId)) await this.engine().remove(runId);
  }

  /** Takes up runs whose process died. Happens by itself where the workflow is served. */
  async restartAllActiveWorkflowRuns(): Promise<void> {
    const { runs } = await this.listActiveWorkflowRuns();
    await Promise.all(runs.map(({ runId }) => this.engine().wake(this as never, runId)));
  }

  /** The scorers of its steps, those of nested workflows included. A function of the request context is not asked. */
  listScorers(): Record<string, unknown> {
    const all = Object.values(this.steps).map((step) =>
      step instanceof Workflow ? step.listScorers() : step.scorers,
    );
    return Object.assign({}, ...all.filter((one) => typeof one === "object")) as Record<string, unknown>;
  }

  /** Runs the workflow as a step that is called directly. Inside another workflow its steps are part of that run. */
  async execute(params: Pick<ExecuteParams, "inputData"> & Partial<ExecuteParams>): Promise<Out> {
    const run = await this.createRun();
    const { inputData, state: initialState, requestContext } = params;
    const result = await run.start({
      inputData: inputData as In,
      ...(initialState !== undefined && { initialState: initialState as State }),
      ...(requestContext && { requestContext }),
    });
    if (result.status === "success") return result.result;
    if (result.status === "failed") throw result.error;
    throw new AgentError("conflict", `Workflow "${this.id}" is ${result.status} in run "${run.runId}".`);
  }

  /** Takes the steps of another workflow. */
  copyFrom(other: Workflow): void {
    for (const node of other.stepGraph) this.#builder.add(node);
    if (other.committed) this.commit();
  }

  // What its runs need.

  /** Where its runs are: in the host's store, or in memory. */
  engine(): WorkflowEngine {
    const host = this.#host;
    const storage = host?.getStorage();
    if (!storage || !host) return (this.#memory ??= new MemoryRuns());
    const engine = StoredRuns.of(storage, host.system, host.logger, host.workflowRuns ?? {});
    engine.serve(this as never);
    return engine;
  }

  now(): number {
    return Math.trunc((this.#host?.system ?? realSystem).now());
  }

  async checkInput(input: unknown): Promise<unknown> {
    const { validateInputs, schemas, inputSchema } = this.rules;
    return validateInputs ? schemas.check(inputSchema, input, "input data") : input;
  }

  async checkInitialState(state: unknown): Promise<Record<string, unknown>> {
    const { stateSchema } = this;
    if (state !== undefined && (typeof state !== "object" || state === null || Array.isArray(state)))
      throw new AgentError("invalid-argument", `initialState must be an object, got ${showValue(state)}.`);
    if (!stateSchema || !this.rules.validateInputs) return { ...state };
    // Without a state, defaults of the schema count; a schema without them needs none either.
    if (state === undefined)
      try {
        return { ...((await this.#schemas.check(stateSchema, {}, "initial state")) as object) };
      } catch {
        return {};
      }
    return { ...((await this.#schemas.check(stateSchema, state, "initial state")) as object) };
  }

  async checkRequestContext(context: RequestContext): Promise<void> {
    if (this.requestContextSchema && this.rules.validateInputs)
      await this.#schemas.check(this.requestContextSchema, context.all, "request context");
  }

  async #facts(runId: string): Promise<RunFacts | undefined> {
    const facts = await this.engine().facts(checkId("runId", runId));
    return facts?.workflowId === this.id ? facts : undefined;
  }

  async #load(runId: string): Promise<RunImage | undefined> {
    const image = await this.engine().load(checkId("runId", runId));
    if (image?.workflowId !== this.id) return undefined;
    return { ...image, graph: this.serializedStepGraph };
  }

  #snapshot(image: RunImage): ReturnType<typeof toSnapshot> {
    const snapshot = toSnapshot({ ...image, graph: this.serializedStepGraph });
    return this.options.pruneSnapshot?.({ snapshot, workflowStatus: image.status }) ?? snapshot;
  }

  #record(image: RunImage): WorkflowRunRecord {
    return toRunRecord(image, this.#snapshot(withActiveSteps(this.rules, image)));
  }

  #add(change: () => void): any {
    if (this.committed)
      throw new AgentError(
        "invalid-argument",
        `Workflow "${this.id}" is committed. Add steps before .commit().`,
      );
    change();
    return this;
  }

  #needHost(host: WorkflowHost | undefined, what: string): WorkflowHost {
    if (host) return host;
    throw new AgentError(
      "not-found",
      `Workflow "${this.id}" names ${what}, which needs a host: register it with new Mastra({ workflows }).`,
    );
  }
}

/** The compiler shows this when `foreach` follows something that is not an array. */
interface NotAList<Given> {
  "foreach needs an array before it": { previousOutput: Given };
}

/** Defines a workflow. Chain its steps, then call `commit()`. */
export function createWorkflow<
  const Id extends string,
  InputSchema extends Schema,
  OutputSchema extends Schema,
  StateSchema extends Schema | undefined = undefined,
>(
  config: WorkflowConfig<Id, InputSchema, OutputSchema, StateSchema>,
): Workflow<
  Id,
  StateSchema extends Schema ? InferOutput<StateSchema> : any,
  InferInput<InputSchema>,
  InferOutput<OutputSchema>,
  InferOutput<InputSchema>
> {
  return new Workflow(config as WorkflowConfig<Id>) as never;
}

/** The same workflow with another id: for using it twice in one workflow. */
export function cloneWorkflow<State, In, Out, Prev, const Id extends string>(
  workflow: Workflow<string, State, In, Out, Prev>,
  { id }: { id: Id },
): Workflow<Id, State, In, Out, Prev> {
  const clone = new Workflow<Id, State, In, Out, Prev>({ ...workflow.config, id } as WorkflowConfig<Id>);
  clone.copyFrom(workflow as Workflow);
  return clone;
}

function checkSources(how: unknown): Record<string, MapSource> {
  if (typeof how === "object" && how !== null && !Array.isArray(how)) return how as Record<string, MapSource>;
  throw new AgentError("invalid-argument", `map() needs a function or an object, got ${showValue(how)}.`);
}

function noMembers(id: string, block: string): AgentError {
  return new AgentError("invalid-argument", `${block}() of workflow "${id}" needs at least one step.`);
}

function ourTool(name: string, tool: ToolLike): Tool<any, any> {
  if (tool instanceof Tool) return tool;
  throw new AgentError(
    "invalid-argument",
    `Tool "${name}" is not made by createTool(), so it cannot be a step.`,
  );
}
