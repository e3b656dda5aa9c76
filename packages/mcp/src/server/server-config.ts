import type { Logger, System } from "@selvedge/core";
import type { Agent } from "@selvedge/core/agent";
import type { ToolsInput } from "@selvedge/core/tools";
import type {
  CompleteRequestParams,
  Icon,
  Prompt as WirePrompt,
  PromptMessage,
  Resource,
  ResourceTemplateType,
} from "@modelcontextprotocol/server";
import type { MCPServerAuth } from "./authorizer.ts";
import type { CallExtra } from "./call-extra.ts";

export interface Repository {
  url: string;
  source?: string;
  id?: string;
}

export interface PackageInfo {
  registry_name: string;
  name: string;
  version: string;
  [field: string]: unknown;
}

export interface RemoteInfo {
  transport_type: string;
  url: string;
  [field: string]: unknown;
}

export type MCPServerResourceContent =
  | { text?: string; mimeType?: string; uri?: string }
  | { blob?: string; mimeType?: string; uri?: string };

/** What the handlers below are told about the caller, beside what was asked for. */
export interface CallerContext {
  extra: CallExtra;
}

export interface MCPServerResources {
  listResources(context?: CallerContext): Promise<Resource[]>;
  getResourceContent(
    request: { uri: string } & Partial<CallerContext>,
  ): Promise<MCPServerResourceContent | MCPServerResourceContent[]>;
  resourceTemplates?(context?: CallerContext): Promise<ResourceTemplateType[]>;
}

/** A prompt as it is listed. Several may share a name if their versions differ. */
export interface Prompt extends WirePrompt {
  version?: string;
}

export interface MCPServerPrompts {
  listPrompts(context?: CallerContext): Promise<Prompt[]>;
  getPromptMessages?(
    request: {
      name: string;
      version?: string;
      // Documented as any: prompts declare their arguments as data, not as a type.
      // oxlint-disable-next-line typescript/no-explicit-any
      args?: any;
    } & Partial<CallerContext>,
  ): Promise<{ prompt?: Prompt; messages: PromptMessage[] } | PromptMessage[]>;
}

/** Suggests values while somebody fills in an argument of a prompt or of a resource template. */
export type CompleteArgument = (
  request: CompleteRequestParams,
) => Promise<string[] | { values: string[]; total?: number; hasMore?: boolean }>;

/** A workflow, as far as a tool needs one. */
export interface WorkflowLike {
  id?: string;
  description?: string;
  inputSchema?: unknown;
  createRun?(...args: unknown[]): unknown;
  createRunAsync?(...args: unknown[]): unknown;
}

export interface SessionLimits {
  /** Without use. 30 minutes when absent. */
  idleMs?: number;
  /** 1,000 when absent. */
  max?: number;
  /** Of these, for one caller whom a token or the host names. 100 when absent. */
  maxPerCaller?: number;
}

export interface CallLimits {
  /** Time for one call, without that in which the client is asked. 0 is without end. A tool's `timeoutMs` wins. */
  toolTimeoutMs: number;
  /** Size of one result. */
  toolResultBytes: number;
  /** Calls under way. */
  calls: number;
  /** Of these, for one caller whom a token or the host names. */
  callsPerCaller: number;
}

export const DEFAULT_CALL_LIMITS: CallLimits = {
  toolTimeoutMs: 600_000,
  toolResultBytes: 8 << 20,
  calls: 1000,
  callsPerCaller: 100,
};

export interface MCPServerConfig {
  name: string;
  version: string;
  tools: ToolsInput;
  /** Each becomes a tool `ask_<key>`. */
  agents?: Record<string, Agent>;
  /** Each becomes a tool `run_<key>`. */
  workflows?: Record<string, WorkflowLike>;
  id?: string;
  description?: string;
  repository?: Repository;
  /** ISO 8601. The time of construction when absent. */
  releaseDate?: string;
  isLatest?: boolean;
  packageCanonical?: "npm" | "docker" | "pypi" | "crates" | (string & {});
  packages?: PackageInfo[];
  remotes?: RemoteInfo[];
  resources?: MCPServerResources;
  prompts?: MCPServerPrompts;
  complete?: CompleteArgument;
  /** Tells the model at the other end how to use this server. */
  instructions?: string;
  icons?: Icon[];
  /** When HTTP and SSE sessions end by themselves. */
  sessions?: SessionLimits;
  /** What calls of tools may take. */
  limits?: Partial<CallLimits>;
  /** Asks every caller over HTTP and SSE for a token. Whoever reaches the server may call it when absent. */
  auth?: MCPServerAuth;
  /** Names under which browsers may reach this server, instead of the loopback ones. */
  allowedHosts?: string[];
  allowedOrigins?: string[];
  /** At least 32 bytes, shared by all processes that answer one endpoint. A random one per process when absent. */
  requestStateKey?: string | Uint8Array;
  logger?: Logger;
  system?: System;
}
