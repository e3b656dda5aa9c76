import { AgentError } from "@selvedge/core/errors";
import { resourceFromAttributes } from "@opentelemetry/resources";
import type { Tracer } from "@opentelemetry/api";
import { BatchSpanProcessor, type SpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { type Exporter, isSpanExporter, nameOf } from "./exporter.ts";
import { RedactingExporter } from "./redacting-exporter.ts";
import { type SamplingStrategy, toSampler } from "./sampling.ts";
import { SensitiveDataFilter, type SensitiveDataFilterOptions } from "./sensitive-data-filter.ts";

export interface ObservabilityConfig {
  serviceName: string;
  sampling?: SamplingStrategy;
  exporters?: Exporter[];
  /** `SensitiveDataFilter` redacts spans before they are exported. Others are accepted and have no effect. */
  spanOutputProcessors?: unknown[];
  [key: string]: unknown;
}

export interface ObservabilityOptions {
  /** The first one is used. */
  configs?: Record<string, ObservabilityConfig>;
  default?: { enabled?: boolean };
  /** On unless `false`: redacts passwords, tokens and keys in spans. */
  sensitiveDataFilter?: boolean | SensitiveDataFilterOptions;
  [key: string]: unknown;
}

/** Traces all runs of a host: `new Mastra({ observability: new Observability({ configs }) })`. */
export class Observability {
  readonly #provider: TracerProvider | undefined;
  readonly #tracer: Tracer | undefined;

  constructor(options: ObservabilityOptions = {}) {
    const [config] = Object.values(options.configs ?? {});
    if (!config) return;
    if (typeof config.serviceName !== "string" || config.serviceName === "")
      throw new AgentError("invalid-argument", "Observability: a config needs a serviceName.");
    const filter = filterOf(options, config);
    const exporters = (config.exporters ?? []).flatMap((exporter) => {
      if (isSpanExporter(exporter)) return [exporter];
      console.warn(
        `[selvedge] ${nameOf(exporter)} does nothing here. Use an OpenTelemetry exporter for its platform.`,
      );
      return [];
    });
    if (exporters.length === 0) return;
    const spanProcessors = exporters.map(
      (exporter): SpanProcessor =>
        new BatchSpanProcessor({ exporter: filter ? new RedactingExporter(exporter, filter) : exporter }),
    );
    this.#provider = new TracerProvider({
      resource: resourceFromAttributes({ "service.name": config.serviceName }),
      sampler: toSampler(config.sampling),
      spanProcessors,
    });
    this.#tracer = this.#provider.getTracer("selvedge");
  }

  /** The settings of runs that have none of their own. The host asks for them. */
  get telemetry(): { isEnabled: true; tracer: Tracer } | undefined {
    return this.#tracer && { isEnabled: true, tracer: this.#tracer };
  }

  /** Exports the spans that wait. */
  async flush(): Promise<void> {
    await this.#provider?.forceFlush();
  }

  /** Exports the spans that wait, and stops. The host calls it when it closes. */
  async shutdown(): Promise<void> {
    await this.#provider?.shutdown();
  }
}

function filterOf(
  { sensitiveDataFilter = true }: ObservabilityOptions,
  { spanOutputProcessors = [] }: ObservabilityConfig,
): SensitiveDataFilter | undefined {
  const given = spanOutputProcessors.find((one) => one instanceof SensitiveDataFilter);
  if (given) return given;
  if (sensitiveDataFilter === false) return undefined;
  return new SensitiveDataFilter(sensitiveDataFilter === true ? {} : sensitiveDataFilter);
}
