import { AgentError, showValue } from "../errors.ts";
import { RequestContext } from "../request-context/request-context.ts";
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

export interface WorkspaceOptions {
  id?: string;
  name?: string;
  /** A filesystem, or a function that returns the one of a request. */
  filesystem?: WorkspaceFilesystem | FilesystemResolver;
  /** Several filesystems by path, instead of one. */
  mounts?: Record<string, WorkspaceFilesystem>;
  onMount?: OnMount;
  tools?: WorkspaceToolsConfig;
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

/** Files for agents, as tools with bounds. Pass one to an agent as `workspace`. */
export class Workspace {
  readonly id: string;
  readonly name: string;
  readonly createdAt: Date;
  readonly #filesystem: WorkspaceFilesystem | FilesystemResolver;
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
    const { mounts, onMount, tools = {}, system = realSystem } = options ?? {};
    if (mounts && options.filesystem)
      throw new AgentError(
        "invalid-argument",
        "A workspace has either filesystem or mounts. Leave one of them out.",
      );
    const filesystem = mounts ? new CompositeFilesystem({ mounts, onMount }) : options?.filesystem;
    if (typeof filesystem !== "function" && typeof filesystem?.readFile !== "function") {
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

  hasFilesystemConfig(): boolean {
    return true;
  }

  async resolveFilesystem(context: { requestContext?: RequestContext } = {}): Promise<WorkspaceFilesystem> {
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
    return this.#locks.run(key, LOCK_MS, () => undoChange(files, store, change));
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

  /** The tools for a run, under their exposed names. */
  async tools(
    context: { requestContext?: RequestContext; allowedPaths?: readonly string[] } = {},
  ): Promise<ToolsInput> {
    const requestContext = context.requestContext ?? new RequestContext();
    this.#lastAccessedAt = new Date(this.#system.now());
    return workspaceTools(
      {
        workspace: this,
        id: this.#storedId,
        files: await this.resolveFilesystem({ requestContext }),
        allowedPaths: context.allowedPaths,
        config: this.#tools,
        system: this.#system,
        records: this.#records,
        locks: this.#locks,
      },
      requestContext,
    );
  }

  async getInfo(context: { requestContext?: RequestContext } = {}): Promise<WorkspaceInfo> {
    const filesystem = await this.resolveFilesystem(context);
    return {
      id: this.id,
      name: this.name,
      status: this.#status,
      createdAt: this.createdAt,
      lastAccessedAt: this.#lastAccessedAt,
      filesystem: filesystem.getInfo(),
    };
  }

  /** Text for the system message. The same for the same configuration. */
  getInstructions(): string {
    return this.filesystem?.getInstructions() ?? "Files: paths are relative to the workspace root.";
  }
}
