import type { MastraBrowser } from "../browser/mastra-browser.ts";
import { AgentError, showValue } from "../errors.ts";
import { RequestContext } from "../request-context/request-context.ts";
import { defaultLogger, type Logger } from "../logger.ts";
import { realSystem, type System } from "../system.ts";
import type { ToolsInput } from "../tool/tool.ts";
import { CompositeFilesystem, type OnMount } from "./composite-filesystem.ts";
import type { Storage } from "../storage/storage.ts";
import { fileIdentity, fileKey } from "./file-identity.ts";
import { undoChange } from "./undo-change.ts";
import { type StoredChange, WORKSPACE_DOMAIN, type WorkspaceStore } from "./workspace-domain.ts";
import { OpenRoots } from "./open-roots.ts";
import { KeyedLock } from "./keyed-lock.ts";
import { BackgroundProcesses } from "./sandbox/background-processes.ts";
import { describeIsolation } from "./sandbox/local-sandbox.ts";
import { killListed, listProcesses, processPlace, type WorkspaceProcess } from "./sandbox/list-processes.ts";
import { PROCESS_DOMAIN } from "./sandbox/process-domain.ts";
import { ResolvedSandboxes, type SandboxResolver } from "./sandbox/resolved-sandboxes.ts";
import type { SandboxInfo, WorkspaceSandbox } from "./sandbox/workspace-sandbox.ts";
import { FileRecords } from "./file-records.ts";
import { fileRules } from "./file-rules.ts";
import { GuardedFiles } from "./guarded-files.ts";
import { SearchConfig, type WorkspaceSearchOptions } from "./search/search-config.ts";
import type { SearchOptions } from "./search/search-index.ts";
import type { IndexOptions, SearchResult, WorkspaceSearch } from "./search/workspace-search.ts";
import { type InlineSkill } from "./skills/skill.ts";
import { skillListing } from "./skills/skill-listing.ts";
import { SkillConfig, type WorkspaceSkillOptions } from "./skills/skill-config.ts";
import type { WorkspaceSkills } from "./skills/workspace-skills.ts";
import { filesWithTimeLimit, withTimeLimit } from "./with-time-limit.ts";
import { SearchNotAvailableError } from "./workspace-errors.ts";
import type { FilesystemInfo, WorkspaceFilesystem } from "./workspace-filesystem.ts";
import { workspaceTools, type WorkspaceToolsConfig } from "./workspace-tools.ts";

export type WorkspaceStatus =
  | "pending"
  | "initializing"
  | "ready"
  | "paused"
  | "error"
  | "destroying"
  | "destroyed";

type FilesystemResolver = (context: {
  requestContext: RequestContext;
}) => WorkspaceFilesystem | Promise<WorkspaceFilesystem>;

export interface WorkspaceOptions extends WorkspaceSearchOptions, WorkspaceSkillOptions {
  id?: string;
  name?: string;
  /** A filesystem, or a function that returns the one of a request. Optional in a workspace for search or skills. */
  filesystem?: WorkspaceFilesystem | FilesystemResolver;
  /** Where commands run, or a function that returns the sandbox of a request. */
  sandbox?: WorkspaceSandbox | SandboxResolver;
  /** Requests with the same key share the sandbox that the function returned. Default: one per request context. */
  sandboxCacheKey?(context: { requestContext: RequestContext }): string;
  instructions?: {
    /** What the system message says about a sandbox that a function returns. Default: `"placeholder"`. */
    dynamicSandbox?: "placeholder" | "resolve" | ((context: { requestContext: RequestContext }) => string);
    /** Also name the root and the working directory by their paths on this machine. Default: false. */
    exposePaths?: boolean;
  };
  /** Several filesystems by path, instead of one. */
  mounts?: Record<string, WorkspaceFilesystem>;
  onMount?: OnMount;
  /** Milliseconds for one operation of a filesystem, and for the start of a sandbox. Default: no limit. */
  operationTimeout?: number;
  tools?: WorkspaceToolsConfig;
  /** A browser for the agents of this workspace. It is closed with the workspace. */
  browser?: MastraBrowser;
  /** For warnings, such as those about skills that are left out. */
  logger?: Logger;
  system?: System;
}

/** Ends what dead processes of this machine left running, without waiting for it: every command also does. */
async function killLeftovers(storage: Storage): Promise<void> {
  try {
    await (await storage.domain(PROCESS_DOMAIN)).killLeftovers();
  } catch {
    // The store may be closed already.
  }
}

const DYNAMIC_SANDBOX = "Commands: run by execute_command, in a sandbox that depends on the request.";

interface ChangeFilter {
  threadId?: string;
  toolCallId?: string;
  /** For a filesystem that depends on the request. */
  requestContext?: RequestContext | undefined;
  /** Directories that a session was given. */
  allowedPaths?: readonly string[] | undefined;
}

const LOCK_MS = 30_000;

export interface WorkspaceInfo {
  id: string;
  name: string;
  status: WorkspaceStatus;
  createdAt: Date;
  lastAccessedAt: Date;
  filesystem?: FilesystemInfo;
  sandbox?: SandboxInfo;
}

interface WorkspaceContext {
  requestContext?: RequestContext;
  /** Skills of the agent. */
  agentSkills?: readonly InlineSkill[];
  /** Directories that a session was given, by their real paths. */
  allowedPaths?: readonly string[];
}

/** Gives agents tools for files, commands, search and skills. Pass one to an agent as `workspace`. */
export class Workspace {
  readonly id: string;
  readonly name: string;
  readonly createdAt: Date;
  readonly browser: MastraBrowser | undefined;
  readonly #filesystem: WorkspaceFilesystem | FilesystemResolver | undefined;
  readonly #sandboxes: ResolvedSandboxes | undefined;
  readonly #processes = new BackgroundProcesses();
  readonly #instructions: NonNullable<WorkspaceOptions["instructions"]>;
  readonly #operationTimeout: number | undefined;
  readonly #limited = new WeakMap<WorkspaceFilesystem, WorkspaceFilesystem>();
  readonly #search: SearchConfig;
  readonly #skills: SkillConfig;
  readonly #system: System;
  readonly #records = new FileRecords();
  /** The id that was given: it names the workspace in every process. */
  readonly #storedId: string;
  readonly #locks: KeyedLock;
  readonly #openRoots = new OpenRoots();
  #storage: Storage | undefined;
  #tools: WorkspaceToolsConfig;
  #status: WorkspaceStatus = "pending";
  #starting: Promise<void> | undefined;
  #lastAccessedAt: Date;

  constructor(options: WorkspaceOptions) {
    const { mounts, onMount, sandbox, tools = {}, instructions = {} } = options ?? {};
    const { system = realSystem, logger = defaultLogger } = options ?? {};
    if ((options as { lsp?: unknown } | undefined)?.lsp)
      throw new AgentError(
        "not-supported",
        "A workspace has no language servers yet. Leave out lsp, and run a type checker with execute_command.",
      );
    if (mounts && options.filesystem)
      throw new AgentError("invalid-argument", "Pass either filesystem or mounts to a workspace, not both.");
    if (mounts && typeof sandbox === "function")
      throw new AgentError(
        "invalid-argument",
        "A workspace with mounts needs one sandbox, not a function: the sandbox of a request could not show the mounts.",
      );
    const filesystem = mounts ? new CompositeFilesystem({ mounts, onMount }) : options?.filesystem;
    const isFilesystem = typeof filesystem === "function" || typeof filesystem?.readFile === "function";
    const hasOther = Boolean(sandbox ?? (options?.bm25 || options?.vectorStore || options?.skills));
    if (!isFilesystem && (filesystem !== undefined || !hasOther)) {
      throw new AgentError(
        "invalid-argument",
        `A workspace needs a filesystem, such as new LocalFilesystem({ basePath }), a sandbox, search or skills, but got ${showValue(filesystem)}.`,
      );
    }
    const { operationTimeout } = options;
    if (operationTimeout !== undefined && !(operationTimeout > 0))
      throw new AgentError(
        "invalid-argument",
        `operationTimeout must be a positive number of milliseconds, but got ${showValue(operationTimeout)}.`,
      );
    this.#operationTimeout = operationTimeout;
    this.#instructions = instructions;
    this.#sandboxes = sandbox && new ResolvedSandboxes(sandbox, options.sandboxCacheKey);
    this.#system = system;
    this.id = options.id ?? system.newId();
    this.name = options.name ?? `workspace-${this.id}`;
    this.createdAt = new Date(system.now());
    this.#lastAccessedAt = this.createdAt;
    this.#filesystem = filesystem;
    this.browser = options.browser;
    this.#search = new SearchConfig(options, this.id, system);
    this.#skills = new SkillConfig(options, system, logger);
    this.#tools = tools;
    this.#storedId = options.id ?? "";
    this.#locks = new KeyedLock(system);
  }

  get status(): WorkspaceStatus {
    return this.#status;
  }

  get lastAccessedAt(): Date {
    return this.#lastAccessedAt;
  }

  /** Undefined if a function chooses it per request. */
  get filesystem(): WorkspaceFilesystem | undefined {
    return typeof this.#filesystem === "function" ? undefined : this.#filesystem;
  }

  /** Undefined if a function chooses it per request. */
  get sandbox(): WorkspaceSandbox | undefined {
    return this.#sandboxes?.fixed;
  }

  hasSandboxConfig(): boolean {
    return this.#sandboxes !== undefined;
  }

  async resolveSandbox(context: WorkspaceContext = {}): Promise<WorkspaceSandbox | undefined> {
    return this.#sandboxes?.of(requestOf(context));
  }

  /** Forgets sandboxes that a function returned. They belong to the caller, who stops them. */
  clearSandboxCache(key?: string): void {
    this.#sandboxes?.clear(key);
  }

  /** Undefined if a function chooses them per request, or if there are none. */
  get skills(): WorkspaceSkills | undefined {
    return typeof this.#filesystem === "function" ? undefined : this.#skills.of(this.#filesystem);
  }

  get canBM25(): boolean {
    return this.#search.canBM25;
  }

  get canVector(): boolean {
    return this.#search.canVector;
  }

  get canHybrid(): boolean {
    return this.canBM25 && this.canVector;
  }

  hasFilesystemConfig(): boolean {
    return this.#filesystem !== undefined;
  }

  /** The filesystem with `operationTimeout`, for tools and other users. The same for the same filesystem. */
  #inTime<Files extends WorkspaceFilesystem | undefined>(files: Files): Files | WorkspaceFilesystem {
    if (!files || this.#operationTimeout === undefined) return files;
    let limited = this.#limited.get(files);
    if (!limited) {
      limited = filesWithTimeLimit(files, this.#operationTimeout, this.#system);
      this.#limited.set(files, limited);
    }
    return limited;
  }

  async resolveFilesystem(context: WorkspaceContext = {}): Promise<WorkspaceFilesystem | undefined> {
    if (typeof this.#filesystem !== "function") return this.#filesystem;
    const files = await this.#filesystem({ requestContext: context.requestContext ?? new RequestContext() });
    await this.#openRoots.add(files);
    return files;
  }

  /** Optional. Concurrent calls share one start, and a failed start can be repeated. */
  init(): Promise<void> {
    if (this.#status === "ready") return Promise.resolve();
    this.#starting ??= this.#start().finally(() => (this.#starting = undefined));
    return this.#starting;
  }

  async #start(): Promise<void> {
    this.#status = "initializing";
    try {
      await this.#inTime(this.filesystem)?.init?.();
      await this.#startSandbox();
      if (typeof this.#filesystem !== "function") await this.#search.of(this.#filesystem)?.refresh();
      this.#status = "ready";
    } catch (error) {
      this.#status = "error";
      throw error;
    }
  }

  async #startSandbox(): Promise<void> {
    const starting = this.sandbox?.start?.();
    if (!starting || this.#operationTimeout === undefined) return starting;
    await withTimeLimit(starting, this.#operationTimeout, `${this.sandbox!.name}.start`, this.#system);
  }

  /** Ends all processes. Files keep working, and the next command starts the sandbox again. */
  async stop(): Promise<void> {
    await this.browser?.close();
    await this.#processes.killAll();
    await this.sandbox?.stop?.();
    if (this.#status === "ready") this.#status = "paused";
  }

  /** Ends all processes and releases the filesystem. Never deletes files. */
  async destroy(): Promise<void> {
    if (this.#status === "destroyed") return;
    this.#status = "destroying";
    await this.browser?.close();
    await this.#processes.killAll();
    await this.sandbox?.destroy?.();
    await this.filesystem?.destroy?.();
    this.#status = "destroyed";
  }

  getToolsConfig(): WorkspaceToolsConfig {
    return this.#tools;
  }

  /** Replaces the configuration of the tools, from the next run on. */
  setToolsConfig(config: WorkspaceToolsConfig = {}): void {
    this.#tools = config;
  }

  /** The store for `changes` and `undo`. Set by the agent or host that uses the workspace. */
  useStorage(storage: Storage | undefined): void {
    if (!storage || storage === this.#storage) return;
    this.#storage = storage;
    if (this.#sandboxes) void killLeftovers(storage);
  }

  /** What the calls of threads changed, oldest first: at most 1,000. */
  async changes(filter: ChangeFilter = {}): Promise<StoredChange[]> {
    const { store, root } = await this.#stored(filter);
    return store.changes(root, filter);
  }

  /**
   * Undoes the change of a call. Rejects with `conflict` if the path has changed since. For a file in a directory that a
   * session was given, pass that as `allowedPaths`.
   */
  async undo(call: ChangeFilter & { toolCallId: string }): Promise<StoredChange> {
    const { store, root, files, own } = await this.#stored(call);
    const { change, file } = await store.change(root, call);
    const key = await fileIdentity(files, change.path);
    if (key !== file)
      throw new AgentError(
        "conflict",
        `${change.path} cannot be restored: it leads to another file now. If a session was given its directory, pass that as allowedPaths.`,
      );
    const undone = await this.#locks.run(key, LOCK_MS, () => undoChange(files, store, change));
    await this.#search.of(own)?.noteChange(change.path);
    return undone;
  }

  /** The background processes that threads started in this workspace, newest first: at most 100. */
  async listProcesses(
    which: { threadId?: string; requestContext?: RequestContext } = {},
  ): Promise<WorkspaceProcess[]> {
    const { threadId } = which;
    const place = await this.#processPlace(which);
    return listProcesses(this.#requireStorage(), this.#processes, { place, threadId });
  }

  /** Ends a background process that this process started. */
  async killProcess(which: {
    threadId: string;
    pid: string;
    requestContext?: RequestContext;
  }): Promise<WorkspaceProcess> {
    const place = await this.#processPlace(which);
    return killListed(this.#requireStorage(), this.#processes, { ...which, place });
  }

  async #processPlace(context: WorkspaceContext): Promise<string> {
    const id = this.#storedId;
    return processPlace(id, id ? this.sandbox : await this.resolveSandbox(context));
  }

  /** The files of a request for callers other than the tools. `secrets` lets them read those that the tools ask for. */
  async guardedFiles(context: WorkspaceContext & { secrets?: boolean } = {}): Promise<GuardedFiles> {
    const files = await this.#requireFiles(context);
    return new GuardedFiles(this.#inTime(files), {
      rules: await fileRules(files),
      secrets: context.secrets ?? false,
      change: async (path, work) => {
        const result = await this.#locks.run(await fileIdentity(files, path), LOCK_MS, work);
        await this.#search.of(files)?.noteChange(path);
        return result;
      },
    });
  }

  async #requireFiles(context: WorkspaceContext): Promise<WorkspaceFilesystem> {
    const files = await this.resolveFilesystem(context);
    if (files) return files;
    throw new AgentError(
      "not-supported",
      `Workspace "${this.id}" has no filesystem. Pass one to new Workspace({ filesystem }).`,
    );
  }

  #requireStorage(): Storage {
    if (this.#storage) return this.#storage;
    throw new AgentError(
      "storage-required",
      `Workspace "${this.id}" has no store. Pass it to an agent with memory or to a Mastra with storage, or call workspace.useStorage(storage).`,
    );
  }

  async #stored({ requestContext, allowedPaths }: ChangeFilter): Promise<{
    store: WorkspaceStore;
    root: string;
    files: WorkspaceFilesystem;
    /** Without what a session was given. */
    own: WorkspaceFilesystem;
  }> {
    const storage = this.#requireStorage();
    const own = await this.#requireFiles(requestContext ? { requestContext } : {});
    const files = (allowedPaths && own.withAllowedPaths?.(allowedPaths)) ?? own;
    const { root } = await fileKey(this.#storedId, files, ".");
    return { store: await storage.domain(WORKSPACE_DOMAIN), root, files, own };
  }

  /** Adds a text to the index, or replaces it. No file is written. */
  async index(path: string, content: string, options: IndexOptions & WorkspaceContext = {}): Promise<void> {
    await (await this.#requireSearch(options)).index(path, content, options);
  }

  async removeFromIndex(path: string, context: WorkspaceContext = {}): Promise<void> {
    await (await this.#requireSearch(context)).remove(path);
  }

  /** Passages of the indexed files and texts, best first. */
  async search(query: string, options: SearchOptions & WorkspaceContext = {}): Promise<SearchResult[]> {
    return (await this.#requireSearch(options)).search(query, options);
  }

  /** The skills of a request, and those of an agent. Undefined if there are none. */
  async resolveSkills(context: WorkspaceContext = {}): Promise<WorkspaceSkills | undefined> {
    return this.#skills.resolve(
      await this.resolveFilesystem(context),
      requestOf(context),
      context.agentSkills,
    );
  }

  /** The tools for a run, under their exposed names. */
  async tools(context: WorkspaceContext = {}): Promise<ToolsInput> {
    const requestContext = requestOf(context);
    this.#lastAccessedAt = new Date(this.#system.now());
    if (this.#status === "paused") this.#status = "ready";
    const files = await this.resolveFilesystem({ requestContext });
    return workspaceTools(
      {
        workspace: this,
        id: this.#storedId,
        files: this.#inTime(files),
        // A tool that a request may lack would change the prompt from one request to the next.
        hidesEdits: this.filesystem?.readOnly === true,
        allowedPaths: context.allowedPaths,
        sandbox: await this.resolveSandbox({ requestContext }),
        processes: this.#processes,
        processPlace: () => this.#processPlace(context),
        search: this.#search.of(files),
        skills: await this.resolveSkills(context),
        config: this.#tools,
        system: this.#system,
        records: this.#records,
        locks: this.#locks,
      },
      requestContext,
    );
  }

  async getInfo(
    context: WorkspaceContext & { resolveDynamicProviders?: boolean; includeFileCount?: boolean } = {},
  ): Promise<WorkspaceInfo> {
    const { resolveDynamicProviders = true, includeFileCount = false } = context;
    const resolve = resolveDynamicProviders || this.filesystem !== undefined;
    const filesystem = resolve ? await this.resolveFilesystem(context) : undefined;
    const sandbox = resolveDynamicProviders ? await this.resolveSandbox(context) : this.sandbox;
    return {
      id: this.id,
      name: this.name,
      status: this.#status,
      createdAt: this.createdAt,
      lastAccessedAt: this.#lastAccessedAt,
      ...(filesystem && {
        filesystem: {
          ...filesystem.getInfo(),
          ...(includeFileCount && { totalFiles: await countFiles(this.#inTime(filesystem)!) }),
        },
      }),
      ...(sandbox && { sandbox: await sandbox.getInfo() }),
    };
  }

  /** Text for the system message, without anything that must be detected first. The same for the same configuration. */
  getInstructions(_context: WorkspaceContext = {}): string {
    return this.#text(this.sandbox?.getInstructions());
  }

  /** Text for the system message. Describes the isolation of commands and lists the skills. */
  async getInstructionsAsync(context: WorkspaceContext = {}): Promise<string> {
    const skills = await this.resolveSkills(context);
    const listing = skills && skillListing(await skills.list());
    return [this.#text(await this.#commandText(requestOf(context))), listing].filter(Boolean).join("\n\n");
  }

  #text(commands: string | undefined): string {
    const files = this.filesystem?.getInstructions() ?? "Files: paths are relative to the workspace root.";
    const known = commands ?? (this.#sandboxes && DYNAMIC_SANDBOX);
    const root = this.#instructions.exposePaths && this.filesystem?.getInfo()["basePath"];
    const place = typeof root === "string" ? ` The root is ${root}.` : "";
    return [this.#filesystem && files + place, known].filter(Boolean).join("\n");
  }

  async #commandText(requestContext: RequestContext): Promise<string | undefined> {
    const { dynamicSandbox = "placeholder" } = this.#instructions;
    if (!this.sandbox && typeof dynamicSandbox === "function") return dynamicSandbox({ requestContext });
    const resolve = this.sandbox !== undefined || dynamicSandbox === "resolve";
    const sandbox = resolve ? await this.resolveSandbox({ requestContext }) : undefined;
    if (!sandbox) return undefined;
    const { isolation, network = false, workingDirectory } = await sandbox.getInfo();
    const place = this.#instructions.exposePaths && workingDirectory;
    return [
      sandbox.getInstructions(),
      place && `The working directory is ${place}.`,
      describeIsolation(isolation, network),
    ]
      .filter(Boolean)
      .join(" ");
  }

  async #requireSearch(context: WorkspaceContext): Promise<WorkspaceSearch> {
    const search = this.#search.of(await this.resolveFilesystem(context));
    if (!search) throw new SearchNotAvailableError(undefined, undefined);
    return search;
  }
}

/** The tools of a workspace by the names that the model sees. */
export function createWorkspaceTools(workspace: Workspace, context?: WorkspaceContext): Promise<ToolsInput> {
  return workspace.tools(context);
}

/** Undefined if there are too many to list. */
async function countFiles(files: WorkspaceFilesystem): Promise<number | undefined> {
  try {
    const entries = await files.readdir(".", { recursive: true });
    return entries.filter(({ type }) => type === "file").length;
  } catch (error) {
    if (AgentError.is(error, "limit-exceeded")) return undefined;
    throw error;
  }
}

function requestOf({ requestContext }: WorkspaceContext): RequestContext {
  return requestContext ?? new RequestContext();
}
