import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace";
import type { SensitiveDataFilter } from "./sensitive-data-filter.ts";

/** Redacts spans on their way to an exporter. */
export class RedactingExporter implements SpanExporter {
  readonly #exporter: SpanExporter;
  readonly #filter: SensitiveDataFilter;

  constructor(exporter: SpanExporter, filter: SensitiveDataFilter) {
    this.#exporter = exporter;
    this.#filter = filter;
  }

  export(spans: ReadableSpan[], done: Parameters<SpanExporter["export"]>[1]): void {
    this.#exporter.export(
      spans.map((span) =>
        Object.create(span, { attributes: { value: this.#filter.redact(span.attributes) } }),
      ),
      done,
    );
  }

  async forceFlush(): Promise<void> {
    await this.#exporter.forceFlush?.();
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown();
  }
}
