import type { ModelSpec, StepSpec } from "../lib/script.ts";

export type ChunkKind = "text" | "tool";

export interface StoreSpec {
  file: string;
  lastMessages: number;
}

export interface AgentSpec {
  model: ModelSpec;
  tools: boolean;
  maxSteps: number;
  /** When set: persist the thread in an embedded file store and recall the last N messages. */
  store?: StoreSpec;
}

export interface RunSpec {
  threadId?: string;
  /** Called for every model-originated chunk that the framework's public stream delivers. */
  onChunk(kind: ChunkKind): void;
}

export interface BenchAgent {
  /** Resolves when the public stream is drained and the framework reports the run complete. */
  run(prompt: string, spec: RunSpec): Promise<void>;
  /** Create threads and write history through the framework's own store API. */
  seed?(
    threadIds: string[],
    messages: { role: "user" | "assistant"; text: string; at: Date }[],
  ): Promise<void>;
  /** Number of stored messages (or the store's nearest unit) on the thread; checks that c really persists. */
  count?(threadId: string): Promise<number>;
  close?(): Promise<void>;
}

export interface SignalsApi {
  subscribe(threadId: string): Promise<{
    stream: AsyncIterable<any>;
    unsubscribe(): void;
    isText(c: any): boolean;
    isEcho(c: any): boolean;
    isFinish(c: any): boolean;
  }>;
  /** Resolves when the framework has decided what to do with the message. */
  sendMessage(threadId: string, text: string): Promise<{ action: string }>;
  /** Resolves when the framework has accepted the message as a turn of its own, behind those that wait. */
  queueMessage(threadId: string, text: string): Promise<unknown>;
  /** Resolves when the signal is stored. */
  persistSignal(threadId: string, text: string): Promise<void>;
  close(): Promise<void>;
}

export interface McpApi {
  connect(t: { kind: "stdio"; command: string; args: string[] } | { kind: "http"; url: string }): Promise<{
    call(args: { a: number; b: number }): Promise<unknown>;
    close(): Promise<void>;
  }>;
}

export interface RagApi {
  buildGraph(
    chunks: { text: string }[],
    vectors: number[][],
    threshold: number,
  ): { query(v: number[], topK: number): number; edges(): number };
  chunk(text: string, size: number, overlap: number): Promise<number>;
}

/** A conversation: a thread of an agent, or a session of a controller. */
export interface Conversation {
  /** Resolves when the reply has come in full. */
  turn(text: string): Promise<void>;
  close(): Promise<void>;
}

export interface SessionsApi {
  /** A thread of the same agent without a session, with one reader. */
  bare(threadId: string): Promise<Conversation>;
  open(
    id: string,
    threadId?: string,
  ): Promise<Conversation & { listen(listener: (type: string) => void): void; switchMode(): Promise<void> }>;
  seed(threadId: string, messages: number): Promise<void>;
  close(): Promise<void>;
}

/** An agent whose memory turns old messages into notes. */
export interface ObservingApi {
  turn(threadId: string, text: string): Promise<void>;
  seed(threadId: string, messages: number): Promise<void>;
  /** Resolves when no background work is left that could start. */
  settled(): Promise<void>;
  observe(threadId: string): Promise<void>;
  activate(threadId: string): Promise<boolean>;
  /** Notes that wait to enter the prompt. */
  buffered(threadId: string): Promise<number>;
  /** Puts all waiting work off for an hour, and returns how many pieces there are. */
  postpone(): Promise<number>;
  /** Calls of the store until now. */
  readonly calls: { reads: number; commits: number };
  close(): Promise<void>;
}

/** Workflows whose steps do next to nothing. Each call of what is returned is one run, to its end. */
export interface WorkflowsApi {
  chain(spec: { steps: number; bytes: number }): Promise<() => Promise<void>>;
  foreach(spec: { items: number; concurrency: number }): Promise<() => Promise<void>>;
  /** A run that waits after so many steps. */
  suspended?(spec: { steps: number }): Promise<{
    start(): Promise<string>;
    open(runId: string): Promise<void>;
    resume(runId: string): Promise<void>;
  }>;
  /** Each call starts a run that sleeps for an hour. */
  sleepers?(): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

export interface Loaded {
  createAgent(spec: AgentSpec): Promise<BenchAgent>;
  /** Case f. `model` sees the whole prompt, so it can tell when a signal arrives. */
  signals?(spec: { model: ModelSpec; file: string; tools: boolean }): Promise<SignalsApi>;
  /** Case k: runs commands. Rejects if the isolation does not work here. */
  sandbox?(options: {
    isolation: "none" | "bwrap";
    workingDirectory: string;
  }): Promise<(command: string) => Promise<unknown>>;
  /** Case i. */
  sessions?(spec: { model: ModelSpec; file: string }): Promise<SessionsApi>;
  /** Case j. Without `om`, the same agent with `lastMessages`. */
  observing?(spec: {
    model: ModelSpec;
    file: string;
    tools?: boolean;
    om?: object;
    /** What the observer does; default: it writes one line. */
    observer?: () => StepSpec;
  }): Promise<ObservingApi>;
  /** Case j: a reply through processors of its output. */
  processed?(spec: {
    model: ModelSpec;
    processors: "plain" | "regex, batch, limiter";
  }): Promise<{ run(): Promise<void> }>;
  /** Case m. Without a file, runs are in memory. */
  workflows?(spec: { file: string | undefined }): Promise<WorkflowsApi>;
  /** Case g: one entry per client variant. */
  mcp?: Record<string, McpApi>;
  /** Case h. */
  rag?: RagApi;
}

export interface Adapter {
  name: string;
  /** Folder under PEERS_DIR; undefined when nothing has to be installed. */
  peer?: string;
  /** The cases it takes part in; undefined = all that list it. */
  cases?: string[];
  /** Packages whose versions go in the report. */
  packages: string[];
  /** Case d: what a user imports for an agent with a tool, and the embedded store on top. */
  entry?: string[];
  storeEntry?: string[];
  /** Case d: folder under PEERS_DIR that holds the minimal install, when it is not `peer`. */
  sizePeer?: string;
  /** Case c: largest history to seed, for a store whose writes are too slow for the full set. */
  maxHistory?: number;
  /** How the store of case c is realised, for the report. */
  storeNote?: string;
  load(): Promise<Loaded>;
}
