import type { Logger } from "../logger.ts";

/** How much a logger says; `none` silences it. */
export const LogLevel = {
  DEBUG: "debug",
  INFO: "info",
  WARN: "warn",
  ERROR: "error",
  NONE: "none",
} as const;
export type LogLevel = (typeof LogLevel)[keyof typeof LogLevel];

const ORDER: readonly LogLevel[] = ["debug", "info", "warn", "error", "none"];

export interface LoggerOptions {
  name?: string;
  level?: LogLevel;
}

/** The base of an app's own logger. Any object with these four methods works as `logger` of the host. */
export abstract class MastraLogger implements Logger {
  readonly name: string;
  readonly level: LogLevel;

  constructor(options: LoggerOptions = {}) {
    this.name = options.name ?? "Mastra";
    this.level = options.level ?? "error";
  }

  abstract debug(message: string, ...details: unknown[]): void;
  abstract info(message: string, ...details: unknown[]): void;
  abstract warn(message: string, ...details: unknown[]): void;
  abstract error(message: string, ...details: unknown[]): void;

  trackException(error: Error, metadata?: Record<string, unknown>): void {
    this.error(error.message, { error, ...metadata });
  }

  protected says(level: LogLevel): boolean {
    return ORDER.indexOf(level) >= ORDER.indexOf(this.level);
  }
}

/** Writes to the console what is at or above its level. */
export class ConsoleLogger extends MastraLogger {
  debug(message: string, ...details: unknown[]): void {
    this.#write("debug", message, details);
  }

  info(message: string, ...details: unknown[]): void {
    this.#write("info", message, details);
  }

  warn(message: string, ...details: unknown[]): void {
    this.#write("warn", message, details);
  }

  error(message: string, ...details: unknown[]): void {
    this.#write("error", message, details);
  }

  child(bindings: { component?: string } & Record<string, unknown>): ConsoleLogger {
    const name = bindings.component === undefined ? this.name : `${this.name}/${bindings.component}`;
    return new ConsoleLogger({ name, level: this.level });
  }

  #write(level: "debug" | "info" | "warn" | "error", message: string, details: unknown[]): void {
    if (this.says(level)) console[level](`[${this.name}] ${message}`, ...details);
  }
}

export function createLogger(options: LoggerOptions = {}): ConsoleLogger {
  return new ConsoleLogger(options);
}
