import { AgentError, showValue } from "../errors.ts";
import { defaultLogger, type Logger } from "../logger.ts";
import type { MastraMemory } from "../memory/memory.ts";
import type { MessagesInput } from "../message/message-input.ts";
import type { Instructions } from "../message/system-message.ts";
import type { ModelConfig } from "../model/model.ts";
import { RequestContext } from "../request-context/request-context.ts";
import { runLoop } from "../run/loop.ts";
import { Run } from "../run/run.ts";
import type { AgentExecutionOptions } from "../run/run-options.ts";
import type { Schema } from "../schema/schema.ts";
import { type FullOutput, RunOutput } from "../stream/run-output.ts";
import { realSystem, type System } from "../system.ts";
import type { ToolsInput } from "../tool/tool.ts";
import { ToolCompiler } from "../tool/tool-set.ts";
import type { AgentConfig, AgentGenerateOptions, AgentStreamOptions, EditorConfig } from "./agent-config.ts";
import { type DynamicArgument, type DynamicContext, resolveDynamic } from "./dynamic.ts";
import { mergeOptions } from "./merge-options.ts";
import { prepareRun } from "./prepare-run.ts";
import { SubagentTools } from "./subagent-tools.ts";

/** What an agent needs of the host it is registered with. */
export interface AgentHost {
  readonly logger?: Logger | undefined;
  readonly system?: System | undefined;
  getStorage(): MastraMemory["storage"];
}

type ContextOptions = { requestContext?: RequestContext<any>; runtimeContext?: RequestContext<any> };

/**
 * A model with instructions, tools and memory. An agent keeps no conversation of its own: every call is a run, and
 * what lasts is in the thread the call names.
 */
export class Agent<Id extends string = string, Tools extends ToolsInput = ToolsInput> {
  readonly id: Id;
  readonly name: string;
  readonly description: string;
  /** Carried for later work. */
  readonly voice: unknown;
  readonly editor: EditorConfig | undefined;
  readonly #config: AgentConfig<Id, Tools>;
  readonly #compiler = new ToolCompiler();
  readonly #subagents = new SubagentTools();
  readonly #background = new Set<Promise<unknown>>();
  #host: AgentHost | undefined;

  constructor(config: AgentConfig<Id, Tools>) {
    if (typeof config?.name !== "string" || config.name === "") {
      throw new AgentError("invalid-argument", `An agent needs a name, got ${showValue(config?.name)}.`);
    }
    if (!config.model) {
      throw new AgentError(
        "invalid-argument",
        `Agent "${config.name}" needs a model, such as "openai/gpt-5.5" or an AI SDK model.`,
      );
    }
    this.id = (config.id ?? config.name) as Id;
    this.name = config.name;
    this.description = config.description ?? "";
    this.voice = config.voice;
    this.editor = config.editor;
    this.#config = config;
    if (config.mastra) this.useHost(config.mastra as AgentHost);
  }

  /** Called by the host the agent is registered with. */
  useHost(host: AgentHost): void {
    this.#host = host;
    const { memory } = this.#config;
    const storage = host.getStorage();
    if (memory && typeof memory !== "function" && storage) memory.useStorage(storage);
  }

  /**
   * Starts a run and answers at once with its streams and promises. The run goes on by itself, read or not. Throws
   * only for calls that cannot be started: bad options, bad input, a request context that does not fit.
   */
  async stream<const Output extends Schema | undefined = undefined>(
    messages: MessagesInput,
    options?: AgentExecutionOptions<Output>,
  ): Promise<RunOutput<Output>> {
    const run = new Run(await this.#prepare(messages, options));
    void runLoop(run);
    return new RunOutput<Output>(run);
  }

  /** Runs to the end and answers everything at once. Throws when the run failed. */
  async generate<const Output extends Schema | undefined = undefined>(
    messages: MessagesInput,
    options?: AgentExecutionOptions<Output>,
  ): Promise<FullOutput<Output>> {
    const output = await this.stream(messages, options);
    return output.getFullOutput();
  }

  /** @deprecated The older spelling of `stream()`, with `defaultStreamOptionsLegacy` under its options. */
  async streamLegacy<const Output extends Schema | undefined = undefined>(
    messages: MessagesInput,
    options?: AgentStreamOptions<Output>,
  ): Promise<RunOutput<Output>> {
    return this.stream(messages, await this.#withDefaults(this.#config.defaultStreamOptionsLegacy, options));
  }

  /** @deprecated The older spelling of `generate()`, with `defaultGenerateOptionsLegacy` under its options. */
  async generateLegacy<const Output extends Schema | undefined = undefined>(
    messages: MessagesInput,
    options?: AgentGenerateOptions<Output>,
  ): Promise<FullOutput<Output>> {
    return this.generate(
      messages,
      await this.#withDefaults(this.#config.defaultGenerateOptionsLegacy, options),
    );
  }

  get hasMemory(): boolean {
    return this.#config.memory !== undefined;
  }

  getInstructions(options?: ContextOptions): Promise<Instructions> {
    return this.#resolve(this.#config.instructions, options);
  }

  getModel(options?: ContextOptions): Promise<ModelConfig> {
    return this.#resolve(this.#config.model, options);
  }

  getDescription(): string {
    return this.description;
  }

  async listTools(options?: ContextOptions): Promise<Tools> {
    return this.#config.tools ? this.#resolve(this.#config.tools, options) : ({} as Tools);
  }

  /** The older name of `listTools`. */
  getTools(options?: ContextOptions): Promise<Tools> {
    return this.listTools(options);
  }

  async listAgents(options?: ContextOptions): Promise<Record<string, Agent<any, any>>> {
    return this.#config.agents ? this.#resolve(this.#config.agents, options) : {};
  }

  async listWorkflows(options?: ContextOptions): Promise<Record<string, any>> {
    return this.#config.workflows ? this.#resolve(this.#config.workflows, options) : {};
  }

  async listScorers(options?: ContextOptions): Promise<Record<string, any>> {
    return this.#config.scorers ? this.#resolve(this.#config.scorers, options) : {};
  }

  async getMetadata(options?: ContextOptions): Promise<Record<string, unknown>> {
    return this.#config.metadata ? this.#resolve(this.#config.metadata, options) : {};
  }

  async getMemory(options?: ContextOptions): Promise<MastraMemory | undefined> {
    return this.#config.memory && this.#resolve(this.#config.memory, options);
  }

  async getDefaultOptions(options?: ContextOptions): Promise<AgentExecutionOptions> {
    return this.#config.defaultOptions ? this.#resolve(this.#config.defaultOptions, options) : {};
  }

  /** Waits for work that goes on beside the answers, such as titles and indexing. */
  async settled(): Promise<void> {
    while (this.#background.size > 0) await Promise.allSettled(this.#background);
  }

  #prepare(
    messages: MessagesInput,
    options: AgentExecutionOptions | undefined,
  ): ReturnType<typeof prepareRun> {
    return prepareRun(
      {
        agent: this,
        config: this.#config as unknown as AgentConfig,
        mastra: this.#host,
        compiler: this.#compiler,
        subagents: this.#subagents,
        system: this.#config.system ?? this.#host?.system ?? realSystem,
        logger: this.#logger,
        waitUntil: (work) => this.#waitUntil(work),
      },
      messages,
      options,
    );
  }

  get #logger(): Logger {
    return this.#config.logger ?? this.#host?.logger ?? defaultLogger;
  }

  #waitUntil(work: Promise<unknown>): void {
    const tracked = work
      .catch((error: unknown) => this.#logger.warn(`Background work of agent "${this.name}" failed`, error))
      .finally(() => this.#background.delete(tracked));
    this.#background.add(tracked);
  }

  async #resolve<Value>(argument: DynamicArgument<Value>, options: ContextOptions = {}): Promise<Value> {
    return resolveDynamic(argument, this.#context(options));
  }

  async #withDefaults<Options extends AgentExecutionOptions<any>>(
    defaults: DynamicArgument<AgentExecutionOptions> | undefined,
    options: Options | undefined,
  ): Promise<Options> {
    const resolved = defaults && (await resolveDynamic(defaults, this.#context(options ?? {})));
    return mergeOptions(resolved as Options | undefined, options);
  }

  #context(options: ContextOptions): DynamicContext {
    const requestContext = options.requestContext ?? options.runtimeContext ?? new RequestContext();
    return { requestContext, runtimeContext: requestContext, mastra: this.#host };
  }
}
