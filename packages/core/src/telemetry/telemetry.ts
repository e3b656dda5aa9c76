import type { AttributeValue, Span, Tracer } from "@opentelemetry/api";
import { errorMessage } from "../errors.ts";

/** OpenTelemetry for one run. Off unless `isEnabled`. */
export interface TelemetrySettings {
  isEnabled?: boolean;
  /** Put prompts and tool arguments on spans. */
  recordInputs?: boolean;
  /** Put answers and tool results on spans. */
  recordOutputs?: boolean;
  functionId?: string;
  metadata?: Record<string, AttributeValue | null>;
  tracer?: Tracer;
}

export interface OpenSpan {
  readonly traceId: string;
  set(attributes: Record<string, unknown>): void;
  /** Sets attributes that hold what a person or model said, if outputs are recorded. */
  setOutput(attributes: Record<string, unknown>): void;
  fail(error: unknown): void;
  end(): void;
}

/** Spans of a run, named by the GenAI semantic conventions. `undefined` stands for telemetry that is off. */
export interface Telemetry {
  readonly recordInputs: boolean;
  start(name: string, attributes: Record<string, unknown>, parent?: OpenSpan): OpenSpan;
}

export async function openTelemetry(settings: TelemetrySettings | undefined): Promise<Telemetry | undefined> {
  if (!settings?.isEnabled) return undefined;
  const api = await import("@opentelemetry/api");
  const tracer = settings.tracer ?? api.trace.getTracer("selvedge");
  const recordOutputs = settings.recordOutputs ?? true;
  const spans = new WeakMap<OpenSpan, Span>();
  const common: Record<string, unknown> = { "gen_ai.function_id": settings.functionId };
  for (const [key, value] of Object.entries(settings.metadata ?? {})) common[`gen_ai.metadata.${key}`] = value ?? undefined;
  return {
    recordInputs: settings.recordInputs ?? true,
    start(name, attributes, parent) {
      const parentSpan = parent && spans.get(parent);
      const context = parentSpan ? api.trace.setSpan(api.context.active(), parentSpan) : api.context.active();
      const span = tracer.startSpan(name, { attributes: toAttributes({ ...common, ...attributes }) }, context);
      const open: OpenSpan = {
        traceId: span.spanContext().traceId,
        set: (more) => void span.setAttributes(toAttributes(more)),
        setOutput: (more) => void (recordOutputs && span.setAttributes(toAttributes(more))),
        fail(error) {
          span.recordException(error instanceof Error ? error : { message: errorMessage(error) });
          span.setStatus({ code: api.SpanStatusCode.ERROR, message: errorMessage(error) });
        },
        end: () => span.end(),
      };
      spans.set(open, span);
      return open;
    },
  };
}

function toAttributes(values: Record<string, unknown>): Record<string, AttributeValue> {
  const attributes: Record<string, AttributeValue> = {};
  for (const [key, value] of Object.entries(values)) {
    if (value === undefined || value === null) continue;
    attributes[key] = typeof value === "object" ? JSON.stringify(value) : (value as AttributeValue);
  }
  return attributes;
}
