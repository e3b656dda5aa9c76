import { type Agent, AgentError, type Mastra, type System } from "@selvedge/core";
import { FairTable, Quota } from "@selvedge/core/guards";
import type { MastraMemory } from "@selvedge/core/memory";
import type { AgentController } from "@selvedge/core/agent-controller";
import type { RunOutput } from "@selvedge/core/agent";
import type { Storage } from "@selvedge/core/storage";
import { countRunning, readThreadOverview } from "@selvedge/core/threads";
import type { Workflow } from "@selvedge/core/workflows";
import type { AgentChunk } from "@selvedge/protocol";
import type { Principal } from "./caller.ts";
import { safeChunk } from "./safe-errors.ts";
import { EventBody, type EventSourceText } from "./sse/event-body.ts";
import { FrameCache, wantsNumbers } from "./sse/frames.ts";
import { Pace } from "./sse/pace.ts";
import { FileHosts } from "./file-hosts.ts";
import { KeptItems } from "./openai/kept-items.ts";
import { ServedWorkflow } from "./served-workflow.ts";
import type { ServerLimits, ServerOptions } from "./server-options.ts";
import { findAgent } from "./find-agent.ts";
import { findWorkflow } from "./find-workflow.ts";
import { toWireError } from "./to-response.ts";
import { Turns } from "./turns.ts";
import { WorkflowRequests } from "./workflow-requests.ts";

/** An agent with any tools. */
export type AnyAgent = Agent<string, Record<string, never>>;

/** The reader of a live response, and the request whose abort means it has left. */
interface Reader {
  readonly caller: Principal;
  readonly request: Request;
}

/** How many runs without a thread have a remembered owner. */
const RUNS = { total: 10_000, each: 1000 };

const STREAM_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-content-type-options": "nosniff",
  // A buffering proxy would hold back a live response forever.
  "x-accel-buffering": "no",
};

/** State shared by the handlers: the host and its parts by name, and the live streams. */
export class App {
  readonly mastra: Mastra;
  readonly limits: ServerLimits;
  readonly fileHosts: FileHosts;
  /** Whether an authoriser identifies callers. */
  readonly isGuarded: boolean;
  readonly #frames = bothForms(asItIs);
  readonly #safeFrames = bothForms(safeChunk);
  readonly pace: Pace;
  /** Searches, which may have to scan everything a resource ever said. */
  readonly searches: Turns = new Turns();
  /** One at a time per owner, so that their number is known. */
  readonly newSchedules: Turns = new Turns();
  readonly keptItems: KeptItems = new KeptItems();
  readonly #streams = new Set<EventBody>();
  readonly #streamQuota: Quota;
  readonly #requests: Quota;
  readonly #direct = new Quota({ total: Number.POSITIVE_INFINITY, each: Number.POSITIVE_INFINITY });
  /** Owners of runs without a thread. Owners of threads are in the store. */
  readonly #runs = new FairTable<string>(RUNS);
  /** Requests to workflow runs, by idempotency key. */
  readonly #requested: WorkflowRequests;
  #closed = false;

  constructor({ mastra, allowedFileHosts, authorize }: ServerOptions, limits: ServerLimits) {
    this.mastra = mastra;
    this.#requested = new WorkflowRequests(mastra.system);
    this.isGuarded = authorize !== undefined;
    this.fileHosts = new FileHosts(allowedFileHosts);
    this.limits = limits;
    this.#requests = new Quota({ total: limits.requests, each: limits.requestsPerResource });
    this.#streamQuota = new Quota({ total: limits.streams, each: limits.streamsPerResource });
    this.pace = new Pace(mastra.system, () => this.#streams.size);
  }

  get system(): System {
    return this.mastra.system;
  }

  /** Reduces a chunk to what a caller may see. */
  shownTo(caller: Principal): (chunk: AgentChunk) => AgentChunk {
    return caller.has("inspect") ? asItIs : safeChunk;
  }

  /** Converts any failure to an error that a caller may read. */
  toWireError(thrown: unknown, inspects: boolean, what: string): AgentError {
    const { logger } = this.mastra;
    return toWireError(thrown, { what, inspects, logger, newId: () => this.system.newId() });
  }

  /** Converts frames to what a caller may see, in the form its request asks for. */
  frames(caller: Principal, request: Request): FrameCache {
    const { numbered, bare } = caller.has("inspect") ? this.#frames : this.#safeFrames;
    return wantsNumbers(request) ? numbered : bare;
  }

  /** Finds an agent by its registered name or its id. */
  agent(name: string): AnyAgent {
    return findAgent(this.mastra, name) as AnyAgent;
  }

  controllers(): AgentController[] {
    return Object.values(this.mastra.listAgentControllers()) as AgentController[];
  }

  /** Finds a controller by its registered name or its id. */
  controller(name: string): AgentController {
    const all = this.mastra.listAgentControllers() as Record<string, AgentController>;
    if (Object.hasOwn(all, name)) return all[name] as AgentController;
    const found = Object.values(all).find(({ id }) => id === name);
    if (found) return found;
    throw new AgentError("not-found", `There is no agent controller "${name}".`);
  }

  /** Finds a workflow by its registered name or its id. */
  workflow(name: string): ServedWorkflow {
    return new ServedWorkflow(findWorkflow(this.mastra, name), this.#requested);
  }

  /** By registered name. */
  workflows(): Record<string, ServedWorkflow> {
    const all = Object.entries(this.mastra.listWorkflows() as Record<string, Workflow>);
    return Object.fromEntries(
      all.map(([name, workflow]) => [name, new ServedWorkflow(workflow, this.#requested)]),
    );
  }

  /** The memory of an agent, or the host's. */
  async memory(agentName: string | undefined): Promise<MastraMemory & { storage: Storage }> {
    const memory =
      agentName === undefined ? await this.#anyMemory() : await this.agent(agentName).getMemory();
    if (memory && !memory.storage) {
      const shared = this.mastra.getStorage();
      if (shared) memory.useStorage(shared);
    }
    if (memory?.storage) return memory as MastraMemory & { storage: Storage };
    throw new AgentError(
      "memory-required",
      agentName === undefined ? "This app has no memory." : `Agent "${agentName}" has no memory.`,
    );
  }

  /** The store behind the memory routes; `undefined` in an app without memory. */
  async storage(agentName: string | undefined): Promise<Storage | undefined> {
    try {
      return (await this.memory(agentName)).storage;
    } catch (error) {
      if (AgentError.is(error, "memory-required")) return this.mastra.getStorage();
      throw error;
    }
  }

  /** Remembers who started a run that no store contains. */
  keepRun(runId: string, resourceId: string): void {
    this.#runs.set(runId, resourceId, resourceId);
  }

  ownerOfKeptRun(runId: string): string | undefined {
    return this.#runs.get(runId);
  }

  /** Counts a request as active until the returned function is called, or refuses it. */
  enter({ resourceId }: Principal): () => void {
    const full = this.#requests.full(resourceId);
    if (full === undefined) return this.#requests.take(resourceId);
    const { requests, requestsPerResource } = this.limits;
    throw new AgentError(
      "too-many-requests",
      full === "total"
        ? `The server already has ${requests} active requests. Try again later.`
        : `You already have ${requestsPerResource} active requests. Wait until one has finished.`,
    );
  }

  /** Counts a run without a thread until it ends. Runs of threads are counted in the store. */
  countRun(resourceId: string, output: RunOutput): void {
    void output.consumeStream().finally(this.#direct.take(resourceId));
  }

  /** Refuses to start a run for a caller at its limit. A message to a thread with an active run starts none. */
  async checkRuns(
    { resourceId }: Principal,
    threads: () => Promise<Storage | undefined>,
    threadId: string | undefined,
  ): Promise<void> {
    if (resourceId === undefined) return;
    const { runsPerResource } = this.limits;
    const storage = await threads();
    let count = this.#direct.countOf(resourceId);
    // An agent without memory has its own store.
    for (const store of new Set([storage, this.mastra.getStorage()])) {
      await store?.init();
      if (store) count += await countRunning(store, resourceId);
    }
    count += await this.#runningWorkflows(resourceId);
    if (count < runsPerResource) return;
    const overview =
      threadId === undefined || !storage ? undefined : await readThreadOverview(storage, threadId);
    if (overview?.runState === "running") return;
    throw new AgentError(
      "too-many-requests",
      `You already have ${runsPerResource} active runs. Wait until one has ended, or abort one.`,
    );
  }

  /** Refuses a live response when there is no room for it. Called before the work for it starts. */
  checkRoom({ resourceId }: Principal): void {
    const { streams, streamsPerResource } = this.limits;
    if (this.#closed) throw closing();
    const full = this.#streamQuota.full(resourceId);
    if (full === undefined) return;
    throw new AgentError(
      "too-many-streams",
      full === "total"
        ? `The server already has ${streams} live streams. Try again later.`
        : `You already have ${streamsPerResource} live streams. Close one, or wait until one ends.`,
    );
  }

  /** A live response. Closes its source when the reader leaves, even if it left before this call. */
  stream(
    { caller, request }: Reader,
    source: EventSourceText,
    opening: string,
    more: Record<string, string> = {},
  ): Response {
    try {
      this.checkRoom(caller);
    } catch (error) {
      source.leave();
      throw error;
    }
    const headers = { ...STREAM_HEADERS, ...more };
    if (request.method === "HEAD") {
      source.leave();
      return new Response(null, { headers });
    }
    const end = this.#streamQuota.take(caller.resourceId);
    const body = new EventBody(this.#guarded(source, caller), opening, {
      system: this.system,
      limits: this.limits,
      onOver: (over) => {
        this.#streams.delete(over);
        end();
      },
    });
    this.#streams.add(body);
    body.leaveWith(request.signal);
    return new Response(body.stream, { headers });
  }

  /** Passes on a response made elsewhere. A live one is counted and watched like ours. */
  relay(reader: Reader, response: Response): Response {
    const { body, headers } = response;
    if (!body || !headers.get("content-type")?.startsWith("text/event-stream")) return response;
    const pieces = body.getReader();
    const source: EventSourceText = {
      next: async () => (await pieces.read()).value,
      leave: () => void pieces.cancel().catch(() => {}),
      farewell: () => "",
    };
    return this.stream(reader, source, "", Object.fromEntries(headers));
  }

  /** Reports a stream failure to its reader, as far as the reader may know about it. */
  #guarded(source: EventSourceText, caller: Principal): EventSourceText {
    let left = false;
    return {
      next: async () => {
        try {
          return await source.next();
        } catch (error) {
          // A closed source may fail where it was read; that error has no reader.
          throw left ? error : this.toWireError(error, caller.has("inspect"), "A stream");
        }
      },
      leave: () => {
        left = true;
        source.leave();
      },
      farewell: (error) => source.farewell(error),
    };
  }

  get streamCount(): number {
    return this.#streams.size;
  }

  /** Ends the live streams and tells their readers where to resume. */
  close(): void {
    this.#closed = true;
    for (const stream of this.#streams) stream.end(closing());
  }

  async #runningWorkflows(resourceId: string): Promise<number> {
    const workflows = Object.values(this.mastra.listWorkflows() as Record<string, Workflow>);
    const engines = new Set(
      workflows.filter(({ committed }) => committed).map((workflow) => workflow.engine()),
    );
    let count = 0;
    for (const engine of engines) {
      const running = { resourceId, statuses: ["running"] as const, limit: 1, offset: 0 };
      count += (await engine.list(running)).total;
    }
    return count;
  }

  async #anyMemory(): Promise<MastraMemory | undefined> {
    const [shared] = Object.values(this.mastra.listMemory());
    if (shared) return shared;
    for (const agent of Object.values(this.mastra.listAgents()) as AnyAgent[])
      if (agent.hasMemory) return agent.getMemory();
    return undefined;
  }
}

function bothForms(show: (chunk: AgentChunk) => AgentChunk): { numbered: FrameCache; bare: FrameCache } {
  return { numbered: new FrameCache(show), bare: new FrameCache(show, false) };
}

function asItIs(chunk: AgentChunk): AgentChunk {
  return chunk;
}

function closing(): AgentError {
  return new AgentError(
    "storage-closed",
    "The server is shutting down. Reconnect to another instance or retry later.",
  );
}
