import { type Logger, silentLogger } from "@selvedge/core";

/** Logs warnings and errors to stderr and drops the rest: stdout may carry the protocol. */
export const consoleLogger: Logger = {
  ...silentLogger,
  warn: (message, ...details) => console.warn(`[selvedge] ${message}`, ...details),
  error: (message, ...details) => console.error(`[selvedge] ${message}`, ...details),
};
