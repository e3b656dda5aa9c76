import type { RequestContext } from "../request-context/request-context.ts";
import { createTool, type Tool, type ToolLike, type ToolsInput, type ToolThreadState } from "../tool/tool.ts";
import { TextIndex } from "../vector/text-index.ts";
import { OptionChecks } from "./option-checks.ts";
import type { ProcessInputStepArgs, Processor, StepOverrides } from "./processor.ts";

export interface ToolSearchFilterArgs {
  toolName: string;
  tool: ToolLike;
  requestContext: RequestContext;
  /** Whether the tool is being found, loaded or passed to the model. */
  phase: "search" | "load" | "active";
}

export interface ToolSearchOptions {
  /** The tools to search. */
  tools: ToolsInput;
  /** Also search the agent's own tools, instead of passing them to the model. */
  includeResolvedTools?: boolean;
  search?: {
    /** How many tools a search returns. Default: 5. */
    topK?: number;
    /** Tools with a lower score are not found. Default: 0. */
    minScore?: number;
    /** Load what a search finds. */
    autoLoad?: boolean;
  };
  /** Loaded tools are thread state either way. */
  storage?: "in-memory" | "context";
  /**
   * Loaded tools are dropped when the thread was not used for this long, in milliseconds; 0 means never. Default:
   * 3,600,000.
   */
  ttl?: number;
  /** Whether a tool is available to a request. If it throws, the tool is hidden. */
  filter?: (args: ToolSearchFilterArgs) => boolean | Promise<boolean>;
}

/** What a thread has loaded, in loading order. */
interface Loaded {
  names: string[];
  usedAt: number;
}

const STATE_TYPE = "tool-search";
const MAX_LOADED = 200;
const MAX_THREADS = 1000;

/** Gives the model two tools to find and load others, so that many tools do not fill its prompt. */
export class ToolSearchProcessor implements Processor {
  readonly id = "tool-search";
  readonly #tools: ToolsInput;
  readonly #includesResolved: boolean;
  readonly #topK: number;
  readonly #minScore: number;
  readonly #autoLoad: boolean;
  readonly #ttl: number;
  readonly #filter: ToolSearchOptions["filter"];
  /** The threads this process has seen last, for the methods that manage them. */
  readonly #threads: Map<string, { state: ToolThreadState; usedAt: number }> = new Map();

  constructor(options: ToolSearchOptions) {
    const check = new OptionChecks("ToolSearchProcessor");
    const { tools, includeResolvedTools = false, search = {}, storage = "in-memory" } = options ?? {};
    if (typeof tools !== "object" || tools === null) check.refuse("tools", tools, "an object of tools");
    this.#tools = tools;
    this.#includesResolved = check.boolean("includeResolvedTools", includeResolvedTools);
    this.#topK = check.integer("search.topK", search.topK ?? 5, 1);
    this.#minScore = check.number("search.minScore", search.minScore ?? 0, 0);
    this.#autoLoad = check.boolean("search.autoLoad", search.autoLoad ?? false);
    check.oneOf("storage", storage, ["in-memory", "context"]);
    this.#ttl = check.number("ttl", options.ttl ?? 3_600_000, 0);
    this.#filter = check.func("filter", options.filter);
  }

  async processInputStep(args: ProcessInputStepArgs): Promise<StepOverrides> {
    const { state, tools: own, threadId, threadState, system } = args;
    const search = (state["search"] ??= this.#begin(args)) as Search;
    if (threadId !== undefined && threadState) this.#note(threadId, threadState, system.now());
    const names = await search.loaded();
    const tools: ToolsInput = this.#includesResolved ? {} : { ...own };
    tools["search_tools"] = search.searchTool;
    tools["load_tool"] = search.loadTool;
    for (const name of names)
      if (await search.isVisible(name, "active")) tools[name] = search.tools[name] as ToolLike;
    return { tools };
  }

  /** Drops what a thread has loaded. */
  async clearState(threadId: string): Promise<void> {
    const thread = this.#threads.get(threadId);
    this.#threads.delete(threadId);
    await thread?.state.update(STATE_TYPE, () => null);
  }

  /** Drops what all threads seen by this process have loaded. */
  async clearAllState(): Promise<void> {
    await Promise.all([...this.#threads.keys()].map((threadId) => this.clearState(threadId)));
  }

  getStateStats(): { threadCount: number; oldestAccessTime: number | null } {
    const times = [...this.#threads.values()].map(({ usedAt }) => usedAt);
    return { threadCount: times.length, oldestAccessTime: times.length > 0 ? Math.min(...times) : null };
  }

  /** Drops threads that were not used within `ttl`. Returns how many. */
  cleanupNow(now: number = this.#newest()): number {
    if (this.#ttl === 0) return 0;
    const old = [...this.#threads].filter(([, { usedAt }]) => now - usedAt > this.#ttl);
    for (const [threadId] of old) this.#threads.delete(threadId);
    return old.length;
  }

  #newest(): number {
    return Math.max(0, ...[...this.#threads.values()].map(({ usedAt }) => usedAt));
  }

  #note(threadId: string, state: ToolThreadState, usedAt: number): void {
    this.#threads.delete(threadId);
    this.#threads.set(threadId, { state, usedAt });
    const [oldest] = this.#threads.keys();
    if (this.#threads.size > MAX_THREADS) this.#threads.delete(oldest!);
  }

  #begin({ tools, requestContext, threadState, system, logger }: ProcessInputStepArgs): Search {
    const all: ToolsInput = { ...(this.#includesResolved && tools), ...this.#tools };
    const isVisible = async (toolName: string, phase: ToolSearchFilterArgs["phase"]): Promise<boolean> => {
      if (!Object.hasOwn(all, toolName)) return false;
      if (!this.#filter) return true;
      try {
        return await this.#filter({ toolName, tool: all[toolName] as ToolLike, requestContext, phase });
      } catch (error) {
        logger.warn(`The filter of processor "${this.id}" threw for tool "${toolName}"`, error);
        return false;
      }
    };
    const memory = new LoadedTools(threadState, () => Math.trunc(system.now()), this.#ttl);
    const index = new TextIndex();
    for (const [name, tool] of Object.entries(all))
      index.set(name, `${name.replaceAll(/[_-]|(?<=[a-z])(?=[A-Z])/g, " ")} ${name} ${describe(tool)}`);

    const load = async (wanted: readonly string[]): Promise<{ loaded: string[]; unknown: string[] }> => {
      const visible = await Promise.all(wanted.map((name) => isVisible(name, "load")));
      const loaded = wanted.filter((_, at) => visible[at]);
      if (loaded.length > 0) await memory.add(loaded);
      return { loaded, unknown: wanted.filter((_, at) => !visible[at]) };
    };
    const find = async (query: string): Promise<{ name: string; description: string; score: number }[]> => {
      const scores = [...index.score(query)].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
      const found = [];
      for (const [name, score] of scores) {
        if (found.length >= this.#topK || score < this.#minScore) break;
        if (await isVisible(name, "search"))
          found.push({ name, description: describe(all[name]), score: Math.round(score * 1000) / 1000 });
      }
      return found;
    };
    return {
      tools: all,
      isVisible,
      loaded: () => memory.read(),
      searchTool: createTool({
        id: "search_tools",
        description: this.#autoLoad
          ? "Finds tools by what they do and loads them. You can call them starting with your next step."
          : "Finds tools by what they do. Load the ones you need with load_tool.",
        inputSchema: {
          type: "object",
          properties: { query: { type: "string", description: "What the tool should do, in a few words." } },
          required: ["query"],
        },
        idempotent: true,
        execute: async ({ context }) => {
          const results = await find((context as { query: string }).query);
          if (!this.#autoLoad) return { results };
          return { results, ...(await load(results.map(({ name }) => name))) };
        },
      }),
      loadTool: createTool({
        id: "load_tool",
        description: "Loads one tool or several by name. You can call them starting with your next step.",
        inputSchema: {
          type: "object",
          properties: {
            toolName: {
              anyOf: [{ type: "string" }, { type: "array", items: { type: "string" }, maxItems: 50 }],
            },
          },
          required: ["toolName"],
        },
        idempotent: true,
        execute: async ({ context }) => {
          const { loaded, unknown } = await load(
            [(context as { toolName: string | string[] }).toolName].flat(),
          );
          return {
            loaded,
            ...(unknown.length > 0 && {
              unknown,
              message: "There is no tool with this name. Look for it with search_tools.",
            }),
          };
        },
      }),
    };
  }
}

interface Search {
  tools: ToolsInput;
  searchTool: Tool;
  loadTool: Tool;
  isVisible(name: string, phase: ToolSearchFilterArgs["phase"]): Promise<boolean>;
  loaded(): Promise<string[]>;
}

/** The tools that a thread has loaded, or the run if there is no thread. */
class LoadedTools {
  readonly #thread: ToolThreadState | undefined;
  readonly #now: () => number;
  readonly #ttl: number;
  #own: unknown;

  constructor(thread: ToolThreadState | undefined, now: () => number, ttl: number) {
    this.#thread = thread;
    this.#now = now;
    this.#ttl = ttl;
  }

  async read(): Promise<string[]> {
    const { names, usedAt } = this.#current(this.#thread ? await this.#thread.get(STATE_TYPE) : this.#own);
    // Using them extends their lifetime, with few writes.
    if (names.length > 0 && this.#ttl > 0 && this.#now() - usedAt > this.#ttl / 2) await this.add([]);
    return names;
  }

  async add(more: readonly string[]): Promise<void> {
    const change = (value: unknown): Loaded => {
      const names = [...new Set([...this.#current(value).names, ...more])];
      return { names: names.slice(-MAX_LOADED), usedAt: this.#now() };
    };
    if (this.#thread) await this.#thread.update(STATE_TYPE, change);
    else this.#own = change(this.#own);
  }

  #current(value: unknown): Loaded {
    const { names, usedAt } = Object(value) as Partial<Loaded>;
    if (!Array.isArray(names) || typeof usedAt !== "number") return { names: [], usedAt: 0 };
    const isOver = this.#ttl > 0 && this.#now() - usedAt > this.#ttl;
    return { names: isOver ? [] : names.filter((name) => typeof name === "string"), usedAt };
  }
}

function describe(tool: unknown): string {
  const { description } = Object(tool) as { description?: unknown };
  return typeof description === "string" ? description : "";
}
