import type { MastraBrowser } from "../browser/mastra-browser.ts";
import { AgentError, showValue } from "../errors.ts";
import { RequestContext } from "../request-context/request-context.ts";
import { realSystem, type System } from "../system.ts";
import type { ToolsInput } from "../tool/tool.ts";
import { KeyedLock } from "./keyed-lock.ts";
import { ReadRecords } from "./read-records.ts";
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
  filesystem: WorkspaceFilesystem | FilesystemResolver;
  tools?: WorkspaceToolsConfig;
  /** A browser for the agents of this workspace. It is closed with the workspace. */
  browser?: MastraBrowser;
  system?: System;
}

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
  readonly browser: MastraBrowser | undefined;
  readonly #filesystem: WorkspaceFilesystem | FilesystemResolver;
  readonly #system: System;
  readonly #records: ReadRecords;
  readonly #locks: KeyedLock;
  #tools: WorkspaceToolsConfig;
  #status: WorkspaceStatus = "pending";
  #starting: Promise<void> | undefined;
  #lastAccessedAt: Date;

  constructor(options: WorkspaceOptions) {
    const { filesystem, tools = {}, system = realSystem } = options ?? {};
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
    this.browser = options.browser;
    this.#tools = tools;
    this.#records = new ReadRecords(this.id);
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
    return this.#filesystem({ requestContext: context.requestContext ?? new RequestContext() });
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
    await this.browser?.close();
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

  /** The tools for a run, under their exposed names. */
  async tools(context: { requestContext?: RequestContext } = {}): Promise<ToolsInput> {
    const requestContext = context.requestContext ?? new RequestContext();
    this.#lastAccessedAt = new Date(this.#system.now());
    return workspaceTools(
      {
        workspace: this,
        id: this.id,
        files: await this.resolveFilesystem({ requestContext }),
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
