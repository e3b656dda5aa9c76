import { type Logger, silentLogger } from "@selvedge/core";

/** Warnings and errors to stderr, the rest nowhere: stdout may carry the protocol. */
export const consoleLogger: Logger = {
  ...silentLogger,
  warn: (message, ...details) => console.warn(`[selvedge] ${message}`, ...details),
  error: (message, ...details) => console.error(`[selvedge] ${message}`, ...details),
};
