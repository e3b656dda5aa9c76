import { ConsoleSpanExporter, type SpanExporter } from "@opentelemetry/sdk-trace";

/** An OpenTelemetry exporter, or one of another platform, which has no effect. */
export type Exporter = SpanExporter | PlatformExporter | object;

export function isSpanExporter(exporter: unknown): exporter is SpanExporter {
  return typeof (exporter as Partial<SpanExporter> | null)?.export === "function";
}

export function nameOf(exporter: object): string {
  return exporter.constructor?.name ?? "This exporter";
}

/** Writes spans to the console. */
export class ConsoleExporter extends ConsoleSpanExporter {}

/** An exporter of a platform that Selvedge does not send to. */
abstract class PlatformExporter {
  readonly options: unknown;

  constructor(options?: unknown) {
    this.options = options;
  }
}

export class DefaultExporter extends PlatformExporter {}
export class CloudExporter extends PlatformExporter {}
export class MastraStorageExporter extends PlatformExporter {}
export class MastraPlatformExporter extends PlatformExporter {}
