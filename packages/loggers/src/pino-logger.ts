import { type LoggerOptions, MastraLogger } from "@selvedge/core/logger";
import pino from "pino";
import { type LoggerTransport, toDestination } from "./transport.ts";

export interface PinoLoggerOptions extends LoggerOptions {
  /** Where records go, besides standard output. */
  transports?: Record<string, LoggerTransport>;
  /** Only the transports, not standard output. */
  overrideDefaultTransports?: boolean;
  formatters?: pino.LoggerOptions["formatters"];
  redact?: pino.LoggerOptions["redact"];
  mixin?: pino.LoggerOptions["mixin"];
  messageKey?: string;
  serializers?: pino.LoggerOptions["serializers"];
  /** Accepted. Records are JSON; pipe them through pino-pretty for people. */
  prettyPrint?: boolean;
}

/** A logger on pino: `new Mastra({ logger: new PinoLogger({ name: "shop", level: "info" }) })`. */
export class PinoLogger extends MastraLogger {
  readonly #pino: pino.Logger;
  readonly #transports: ReadonlyMap<string, LoggerTransport>;

  constructor(options: PinoLoggerOptions = {}, child?: pino.Logger) {
    super({ level: "info", ...options });
    this.#transports = new Map(Object.entries(options.transports ?? {}));
    this.#pino = child ?? openPino(options, this.level, [...this.#transports.values()]);
  }

  debug(message: string, ...details: unknown[]): void {
    this.#pino.debug(fieldsOf(details), message);
  }

  info(message: string, ...details: unknown[]): void {
    this.#pino.info(fieldsOf(details), message);
  }

  warn(message: string, ...details: unknown[]): void {
    this.#pino.warn(fieldsOf(details), message);
  }

  error(message: string, ...details: unknown[]): void {
    this.#pino.error(fieldsOf(details), message);
  }

  /** A logger whose records have these fields, too. */
  child(bindings: Record<string, unknown>): PinoLogger {
    return new PinoLogger(
      { name: this.name, level: this.level, transports: Object.fromEntries(this.#transports) },
      this.#pino.child(bindings),
    );
  }

  getTransports(): ReadonlyMap<string, LoggerTransport> {
    return this.#transports;
  }

  /** Writes what waits in the transports. */
  async flush(): Promise<void> {
    await Promise.all([...this.#transports.values()].map(async (transport) => transport.flush?.()));
  }
}

function openPino(options: PinoLoggerOptions, level: string, transports: LoggerTransport[]): pino.Logger {
  const { name, formatters, redact, mixin, messageKey, serializers } = options;
  const destinations = [
    ...(options.overrideDefaultTransports ? [] : [process.stdout]),
    ...transports.map(toDestination),
  ];
  const pinoLevel = level === "none" ? "silent" : level;
  return pino(
    {
      level: pinoLevel,
      ...(name !== undefined && { name }),
      ...(formatters && { formatters }),
      ...(redact && { redact }),
      ...(mixin && { mixin }),
      ...(messageKey !== undefined && { messageKey }),
      ...(serializers && { serializers }),
    },
    // Every stream gets every record: the logger's level decides.
    pino.multistream(destinations.map((stream) => ({ stream, level: "trace" }))),
  );
}

/** The framework passes details as arguments; pino wants one object. */
function fieldsOf(details: readonly unknown[]): object {
  const [first, ...rest] = details;
  if (first instanceof Error) return { err: first, ...(rest.length > 0 && { details: rest }) };
  if (typeof first === "object" && first !== null && rest.length === 0) return first;
  return details.length > 0 ? { details } : {};
}
