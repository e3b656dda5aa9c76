import { AgentError } from "@selvedge/core/errors";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  type Sampler,
  SamplingDecision,
  TraceIdRatioBasedSampler,
} from "@opentelemetry/sdk-trace";

export const SamplingStrategyType = {
  ALWAYS: "always",
  NEVER: "never",
  RATIO: "ratio",
  CUSTOM: "custom",
} as const;
export type SamplingStrategyType = (typeof SamplingStrategyType)[keyof typeof SamplingStrategyType];

export type SamplingStrategy =
  | { type: "always" }
  | { type: "never" }
  | { type: "ratio"; probability: number }
  | { type: "custom"; sampler: () => boolean };

/** Which traces are exported. */
export function toSampler(strategy: SamplingStrategy = { type: "always" }): Sampler {
  switch (strategy.type) {
    case "always":
      return new AlwaysOnSampler();
    case "never":
      return new AlwaysOffSampler();
    case "ratio":
      if (!(strategy.probability >= 0 && strategy.probability <= 1))
        throw invalid(`probability must be a number from 0 to 1, got ${strategy.probability}`);
      return new TraceIdRatioBasedSampler(strategy.probability);
    case "custom":
      return {
        shouldSample: () => ({
          decision: strategy.sampler() ? SamplingDecision.RECORD_AND_SAMPLED : SamplingDecision.NOT_RECORD,
        }),
        toString: () => "custom",
      };
    default:
      throw invalid(`type must be always, never, ratio or custom, got ${JSON.stringify(strategy)}`);
  }
}

function invalid(what: string): AgentError {
  return new AgentError("invalid-argument", `Observability: sampling.${what}.`);
}
