// The names of @mastra/core/observability.
export {
  EntityType,
  InternalSpans,
  SamplingStrategyType,
  SpanType,
  TracingEventType,
} from "../switching/span-names.ts";
export type { TelemetrySettings } from "../telemetry/telemetry.ts";
