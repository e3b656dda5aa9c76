export { PinoLogger, type PinoLoggerOptions } from "./pino-logger.ts";
export { LoggerTransport } from "./transport.ts";
export { LogLevel } from "@selvedge/core/logger";
