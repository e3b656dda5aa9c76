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

/** Information about the caller, passed to the handlers below. */
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

/** A prompt as listed. Several prompts may share a name if their versions differ. */
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

/** Suggests values for an argument of a prompt or a resource template. */
export type CompleteArgument = (
  request: CompleteRequestParams,
) => Promise<string[] | { values: string[]; total?: number; hasMore?: boolean }>;

/** The part of a workflow that a tool needs. */
export interface WorkflowLike {
  id?: string;
  description?: string | undefined;
  inputSchema?: unknown;
  createRun?(...args: unknown[]): unknown;
  createRunAsync?(...args: unknown[]): unknown;
}

export interface SessionLimits {
  /** Milliseconds without use. Default: 30 minutes. */
  idleMs?: number;
  /** Default: 1,000. */
  max?: number;
  /** Per caller identified by a token or the host. Default: 100. */
  maxPerCaller?: number;
}

export interface CallLimits {
  /**
   * Milliseconds for one call, not counting questions to the client. 0 means no limit. A tool's `timeoutMs` takes
   * precedence.
   */
  toolTimeoutMs: number;
  /** Maximum size of one result. */
  toolResultBytes: number;
  /** Maximum number of concurrent calls. */
  calls: number;
  /** Concurrent calls per caller identified by a token or the host. */
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
  /** ISO 8601. Default: the time of construction. */
  releaseDate?: string;
  isLatest?: boolean;
  packageCanonical?: "npm" | "docker" | "pypi" | "crates" | (string & {});
  packages?: PackageInfo[];
  remotes?: RemoteInfo[];
  resources?: MCPServerResources;
  prompts?: MCPServerPrompts;
  complete?: CompleteArgument;
  /** Instructions for the model on how to use this server. */
  instructions?: string;
  icons?: Icon[];
  /** When idle HTTP and SSE sessions end. */
  sessions?: SessionLimits;
  /** Limits for tool calls. */
  limits?: Partial<CallLimits>;
  /** Requires a token from every HTTP and SSE caller. Without it, anyone who can reach the server may call it. */
  auth?: MCPServerAuth;
  /** Host names under which browsers may reach this server, instead of the loopback names. */
  allowedHosts?: string[];
  allowedOrigins?: string[];
  /** At least 32 bytes, shared by all processes behind one endpoint. Default: random per process. */
  requestStateKey?: string | Uint8Array;
  logger?: Logger;
  system?: System;
}
