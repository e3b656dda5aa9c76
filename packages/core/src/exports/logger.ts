// The names of @mastra/core/logger.
export {
  ConsoleLogger,
  createLogger,
  type LoggerOptions,
  LogLevel,
  MastraLogger,
} from "../switching/mastra-logger.ts";
export { type Logger as IMastraLogger, silentLogger as noopLogger } from "../logger.ts";
