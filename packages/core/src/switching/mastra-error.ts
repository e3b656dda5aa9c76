import { AgentError } from "../errors.ts";

/** The areas an error may come from, for programs that make their own `MastraError`. */
export const ErrorDomain = {
  AGENT: "AGENT",
  TOOL: "TOOL",
  MCP: "MCP",
  LLM: "LLM",
  EVAL: "EVAL",
  SCORER: "SCORER",
  MASTRA: "MASTRA",
  STORAGE: "STORAGE",
  MASTRA_SERVER: "MASTRA_SERVER",
  MASTRA_WORKFLOW: "MASTRA_WORKFLOW",
  MASTRA_MEMORY: "MASTRA_MEMORY",
  MASTRA_VECTOR: "MASTRA_VECTOR",
} as const;
export type ErrorDomain = (typeof ErrorDomain)[keyof typeof ErrorDomain];

export const ErrorCategory = {
  UNKNOWN: "UNKNOWN",
  USER: "USER",
  SYSTEM: "SYSTEM",
  THIRD_PARTY: "THIRD_PARTY",
} as const;
export type ErrorCategory = (typeof ErrorCategory)[keyof typeof ErrorCategory];

/** How a program describes an error of its own. */
export interface ErrorDefinition {
  id: string;
  text?: string;
  domain?: string;
  category?: string;
  details?: Record<string, unknown>;
}

/**
 * An `AgentError` for programs that make errors in this form. Every `AgentError` is an instance of it, so
 * `error instanceof MastraError` holds for what this framework throws.
 */
export class MastraError extends AgentError {
  readonly id: string;
  readonly domain: string;
  readonly category: string;

  constructor({ id, text, domain, category, details }: ErrorDefinition, cause?: unknown) {
    const reason = text ?? (cause instanceof Error ? cause.message : id);
    const isUsers = category === ErrorCategory.USER;
    super(isUsers ? "invalid-argument" : "internal", reason, {
      ...(cause !== undefined && { cause }),
      details: { ...details, id },
    });
    this.id = id;
    this.domain = domain ?? ErrorDomain.MASTRA;
    this.category = category ?? ErrorCategory.UNKNOWN;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return AgentError.is(value);
  }
}
