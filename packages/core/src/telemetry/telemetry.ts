import type { AttributeValue, Span, Tracer } from "@opentelemetry/api";
import { AgentError, errorMessage, showValue } from "../errors.ts";

/** OpenTelemetry for one run. Off unless `isEnabled`. */
export interface TelemetrySettings {
  isEnabled?: boolean;
  /** Record prompts and tool arguments on spans. */
  recordInputs?: boolean;
  /** Record answers and tool results on spans. */
  recordOutputs?: boolean;
  functionId?: string;
  metadata?: Record<string, AttributeValue | null>;
  tracer?: Tracer;
}

export interface OpenSpan {
  readonly traceId: string;
  set(attributes: Record<string, unknown>): void;
  /** Sets attributes that contain text of a person or model, if outputs are recorded. */
  setOutput(attributes: Record<string, unknown>): void;
  fail(error: unknown): void;
  end(): void;
}

/** Spans of a run, named by the GenAI semantic conventions. `undefined` means telemetry is off. */
export interface Telemetry {
  readonly recordInputs: boolean;
  start(name: string, attributes: Record<string, unknown>, parent?: OpenSpan): OpenSpan;
}

export async function openTelemetry(settings: TelemetrySettings | undefined): Promise<Telemetry | undefined> {
  if (!settings?.isEnabled) return undefined;
  const api = await import("@opentelemetry/api");
  const tracer = settings.tracer ?? api.trace.getTracer("selvedge");
  const recordInputs = settings.recordInputs ?? true;
  const recordOutputs = settings.recordOutputs ?? true;
  const spans = new WeakMap<OpenSpan, Span>();
  // The conventions have no names for these, so we use our own.
  const common: Record<string, unknown> = { "selvedge.function_id": settings.functionId };
  for (const [key, value] of Object.entries(settings.metadata ?? {}))
    common[`selvedge.metadata.${key}`] = value ?? undefined;
  return {
    recordInputs,
    start(name, attributes, parent) {
      const parentSpan = parent && spans.get(parent);
      const context = parentSpan ? api.trace.setSpan(api.context.active(), parentSpan) : api.context.active();
      const span = tracer.startSpan(
        name,
        { attributes: toAttributes({ ...common, ...attributes }) },
        context,
      );
      const open: OpenSpan = {
        traceId: span.spanContext().traceId,
        set: (more) => quietly(() => span.setAttributes(toAttributes(more))),
        setOutput: (more) => void (recordOutputs && quietly(() => span.setAttributes(toAttributes(more)))),
        fail: (error) =>
          quietly(() => {
            const type = errorType(error);
            // An error message may quote text of a person or model.
            const message = recordInputs && recordOutputs ? errorMessage(error) : type;
            span.setAttributes({ "error.type": type });
            span.recordException({ name: type, message });
            span.setStatus({ code: api.SpanStatusCode.ERROR, message });
          }),
        end: () => quietly(() => span.end()),
      };
      spans.set(open, span);
      return open;
    },
  };
}

/** A failing span must not break its run. */
function quietly(write: () => void): void {
  try {
    write();
  } catch {
    // Ignored: it is the tracer's problem.
  }
}

function errorType(error: unknown): string {
  if (AgentError.is(error)) return error.code;
  return error instanceof Error ? error.name : "_OTHER";
}

function toText(value: object): string {
  try {
    return JSON.stringify(value);
  } catch {
    return showValue(value);
  }
}

function toAttributes(values: Record<string, unknown>): Record<string, AttributeValue> {
  const attributes: Record<string, AttributeValue> = {};
  for (const [key, value] of Object.entries(values)) {
    if (value === undefined || value === null) continue;
    const plain =
      typeof value !== "object" || (Array.isArray(value) && value.every((item) => typeof item === "string"));
    attributes[key] = plain ? (value as AttributeValue) : toText(value);
  }
  return attributes;
}
