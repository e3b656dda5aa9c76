/** Receives errors and warnings that no caller can catch. Any console-like object works. */
export interface Logger {
  debug(message: string, ...details: unknown[]): void;
  info(message: string, ...details: unknown[]): void;
  warn(message: string, ...details: unknown[]): void;
  error(message: string, ...details: unknown[]): void;
}

const nothing = (): void => {};

export const silentLogger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };

/** Warnings and errors to the console, the rest nowhere. */
export const defaultLogger: Logger = {
  ...silentLogger,
  warn: (message, ...details) => console.warn(`[selvedge] ${message}`, ...details),
  error: (message, ...details) => console.error(`[selvedge] ${message}`, ...details),
};
