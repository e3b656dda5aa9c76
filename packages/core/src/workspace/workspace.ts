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
import { FileRecords } from "./file-records.ts";
import { SearchConfig, type WorkspaceSearchOptions } from "./search/search-config.ts";
import type { SearchOptions } from "./search/search-index.ts";
import type { IndexOptions, SearchResult, WorkspaceSearch } from "./search/workspace-search.ts";
import { type InlineSkill } from "./skills/skill.ts";
import { skillListing } from "./skills/skill-listing.ts";
import { SkillConfig, type WorkspaceSkillOptions } from "./skills/skill-config.ts";
import type { WorkspaceSkills } from "./skills/workspace-skills.ts";
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
  /** Several filesystems by path, instead of one. */
  mounts?: Record<string, WorkspaceFilesystem>;
  onMount?: OnMount;
  tools?: WorkspaceToolsConfig;
  /** For warnings, such as those about skills that are left out. */
  logger?: Logger;
  system?: System;
}

interface ChangeFilter {
  threadId?: string;
  toolCallId?: string;
  /** For a filesystem that depends on the request. */
  requestContext?: RequestContext | undefined;
}

const LOCK_MS = 30_000;

export interface WorkspaceInfo {
  id: string;
  name: string;
  status: WorkspaceStatus;
  createdAt: Date;
  lastAccessedAt: Date;
  filesystem?: FilesystemInfo;
}

interface WorkspaceContext {
  requestContext?: RequestContext;
  /** Skills of the agent. */
  agentSkills?: readonly InlineSkill[];
}

/** Files, search and skills for agents, as tools with bounds. Pass one to an agent as `workspace`. */
export class Workspace {
  readonly id: string;
  readonly name: string;
  readonly createdAt: Date;
  readonly #filesystem: WorkspaceFilesystem | FilesystemResolver | undefined;
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
    const { mounts, onMount, tools = {}, system = realSystem, logger = defaultLogger } = options ?? {};
    if (mounts && options.filesystem)
      throw new AgentError(
        "invalid-argument",
        "A workspace has either filesystem or mounts. Leave one of them out.",
      );
    const filesystem = mounts ? new CompositeFilesystem({ mounts, onMount }) : options?.filesystem;
    const isFilesystem = typeof filesystem === "function" || typeof filesystem?.readFile === "function";
    const hasOther = Boolean(options?.bm25 || options?.vectorStore || options?.skills);
    if (!isFilesystem && (filesystem !== undefined || !hasOther)) {
      throw new AgentError(
        "invalid-argument",
        `A workspace needs a filesystem, such as new LocalFilesystem({ basePath }), but got ${showValue(filesystem)}.`,
      );
    }
    this.#system = system;
    this.id = options.id ?? system.newId();
    this.name = options.name ?? `workspace-${this.id}`;
    this.createdAt = new Date(system.now());
    this.#lastAccessedAt = this.createdAt;
    this.#filesystem = filesystem;
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

  async resolveFilesystem(context: WorkspaceContext = {}): Promise<WorkspaceFilesystem> {
    const files = await this.#files(context);
    if (!files) throw new AgentError("not-supported", `Workspace "${this.id}" has no files.`);
    return files;
  }

  async #files(context: WorkspaceContext): Promise<WorkspaceFilesystem | undefined> {
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
      await this.filesystem?.init?.();
      if (typeof this.#filesystem !== "function") await this.#search.of(this.#filesystem)?.refresh();
      this.#status = "ready";
    } catch (error) {
      this.#status = "error";
      throw error;
    }
  }

  /** Releases the filesystem. Never deletes files. */
  async destroy(): Promise<void> {
    if (this.#status === "destroyed") return;
    this.#status = "destroying";
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

  /** Where `changes` and `undo` look. An agent or a host that uses the workspace says so. */
  useStorage(storage: Storage | undefined): void {
    if (storage) this.#storage = storage;
  }

  /** What the calls of threads changed, oldest first: at most 1,000. */
  async changes(filter: ChangeFilter = {}): Promise<StoredChange[]> {
    const { store, root } = await this.#stored(filter);
    return store.changes(root, filter);
  }

  /** Puts back what a call changed. Rejects with `conflict` if it has changed since. */
  async undo({ toolCallId, requestContext }: ChangeFilter & { toolCallId: string }): Promise<StoredChange> {
    const { store, root, files } = await this.#stored({ requestContext });
    const change = await store.change(root, toolCallId);
    const key = await fileIdentity(files, change.path);
    const undone = await this.#locks.run(key, LOCK_MS, () => undoChange(files, store, change));
    await this.#search.of(files)?.noteChange(change.path);
    return undone;
  }

  async #stored({ requestContext }: ChangeFilter): Promise<{
    store: WorkspaceStore;
    root: string;
    files: WorkspaceFilesystem;
  }> {
    if (!this.#storage) {
      throw new AgentError(
        "storage-required",
        `Workspace "${this.id}" knows no store. Pass it to an agent with a memory, or to a Mastra with a store.`,
      );
    }
    const files = await this.resolveFilesystem(requestContext ? { requestContext } : {});
    const { root } = await fileKey(this.#storedId, files, ".");
    return { store: await this.#storage.domain(WORKSPACE_DOMAIN), root, files };
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
    return this.#skills.resolve(await this.#files(context), requestOf(context), context.agentSkills);
  }

  /** The tools for a run, under their exposed names. */
  async tools(context: WorkspaceContext = {}): Promise<ToolsInput> {
    const requestContext = requestOf(context);
    this.#lastAccessedAt = new Date(this.#system.now());
    const files = await this.#files({ requestContext });
    return workspaceTools(
      {
        workspace: this,
        id: this.#storedId,
        files,
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

  async getInfo(context: WorkspaceContext = {}): Promise<WorkspaceInfo> {
    const filesystem = await this.#files(context);
    return {
      id: this.id,
      name: this.name,
      status: this.#status,
      createdAt: this.createdAt,
      lastAccessedAt: this.#lastAccessedAt,
      ...(filesystem && { filesystem: filesystem.getInfo() }),
    };
  }

  /** Text for the system message, without skills. The same for the same configuration. */
  getInstructions(): string {
    if (!this.#filesystem) return "";
    return this.filesystem?.getInstructions() ?? "Files: paths are relative to the workspace root.";
  }

  /** Text for the system message, with a list of skills. The same for the same configuration and skills. */
  async getInstructionsAsync(context: WorkspaceContext = {}): Promise<string> {
    const skills = await this.resolveSkills(context);
    const listing = skills && skillListing(await skills.list());
    return [this.getInstructions(), listing].filter(Boolean).join("\n\n");
  }

  async #requireSearch(context: WorkspaceContext): Promise<WorkspaceSearch> {
    const search = this.#search.of(await this.#files(context));
    if (!search) throw new SearchNotAvailableError(undefined, undefined);
    return search;
  }
}

function requestOf({ requestContext }: WorkspaceContext): RequestContext {
  return requestContext ?? new RequestContext();
}
