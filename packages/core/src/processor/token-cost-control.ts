import { OptionChecks } from "./option-checks.ts";
import type { ProcessInputStepArgs, Processor } from "./processor.ts";
import type { StepResult } from "./step-result.ts";
import { report, type ViolationCallback } from "./violation.ts";

const SCOPES = ["run", "resource", "thread", "user", "organization", "session"] as const;
type CostScope = (typeof SCOPES)[number];

const WINDOWS = { "1h": 1, "6h": 6, "24h": 24, "7d": 168, "30d": 720, "365d": 8760 } as const;
const HOUR_MS = 3_600_000;

/** What is asked about: whose cost, since when. */
export interface CostQuery {
  scope: CostScope;
  /** The run, resource or thread; of the others, `userId`, `organizationId` or `sessionId` of the request context. */
  id: string;
  since: Date;
}

export interface CostReport {
  cost: number;
  /** Parts of it, such as models. */
  breakdown?: Record<string, number>;
}

/** Cost of a million tokens. */
export interface TokenPrice {
  input: number;
  output: number;
  /** Of tokens that the provider read from its cache; as `input` when absent. */
  cachedInput?: number;
}

export interface TokenCostControlOptions {
  /** The limit, in the currency of the prices. */
  maxCost: number | ((args: ProcessInputStepArgs) => number | Promise<number>);
  /** Whose cost is summed. `resource` when absent. */
  scope?: CostScope;
  /** Over which time. `7d` when absent. It does not apply to a run. */
  window?: keyof typeof WINDOWS;
  /** `block` (the default) ends the run, `warn` only tells. */
  strategy?: "block" | "warn";
  /** `{usage}` and `{limit}` are replaced. */
  message?: string;
  /** Tells once per request when so many percent of the limit are used. */
  warnAtPercent?: number;
  /** Put the parts of the cost into the tripwire. */
  includeBreakdown?: boolean;
  onViolation?: ViolationCallback;
  /** The cost that your app has recorded; `undefined` if it has none. */
  getCost?: (query: CostQuery) => CostReport | number | undefined | Promise<CostReport | number | undefined>;
  /** By `provider/model` or model id. With them the cost of a run is known without `getCost`. */
  prices?: Readonly<Record<string, TokenPrice>>;
}

const MESSAGE = "The cost limit is reached: {usage} of {limit}.";

/** Ends a run before its next model call when its cost, or that of its owner, has reached a limit. */
export class TokenCostControl implements Processor {
  readonly id = "token-cost-control";
  readonly #options: TokenCostControlOptions;
  readonly #scope: CostScope;
  readonly #windowMs: number;

  constructor(options: TokenCostControlOptions) {
    const check = new OptionChecks("TokenCostControl");
    const { maxCost, scope = "resource", window = "7d", strategy = "block", warnAtPercent } = options ?? {};
    if (typeof maxCost !== "function") check.number("maxCost", maxCost, 0);
    this.#scope = check.oneOf("scope", scope, SCOPES);
    const hours = WINDOWS[check.oneOf("window", window, Object.keys(WINDOWS) as (keyof typeof WINDOWS)[])];
    this.#windowMs = hours * HOUR_MS;
    check.oneOf("strategy", strategy, ["block", "warn"]);
    check.string("message", options.message ?? MESSAGE);
    if (warnAtPercent !== undefined) check.number("warnAtPercent", warnAtPercent, 0, 100);
    check.boolean("includeBreakdown", options.includeBreakdown ?? false);
    check.func("onViolation", options.onViolation);
    check.func("getCost", options.getCost);
    for (const [model, price] of Object.entries(options.prices ?? {})) {
      check.number(`prices["${model}"].input`, price?.input, 0);
      check.number(`prices["${model}"].output`, price?.output, 0);
    }
    this.#options = options;
  }

  async processInputStep(args: ProcessInputStepArgs): Promise<void> {
    const { maxCost, strategy = "block", warnAtPercent, includeBreakdown } = this.#options;
    const limit = typeof maxCost === "function" ? await maxCost(args) : maxCost;
    if (typeof limit !== "number" || !(limit >= 0)) {
      return this.#tellOnce(
        args,
        "limit",
        `maxCost returned ${String(limit)}; the run continues without a limit`,
      );
    }
    const found = await this.#cost(args);
    if (!found) return this.#tellOnce(args, "data", "has no cost data; the run continues");
    const { cost, breakdown } = found;
    const detail = {
      scope: this.#scope,
      usage: cost,
      limit,
      ...(includeBreakdown && breakdown && { breakdown }),
    };
    const message = (this.#options.message ?? MESSAGE)
      .replaceAll("{usage}", () => String(round(cost)))
      .replaceAll("{limit}", () => String(limit));
    if (cost >= limit) {
      const violation = { processorId: this.id, message, detail: { ...detail, strategy } };
      if (!args.state["reported"]) await report(this.#options.onViolation, violation, args);
      args.state["reported"] = true;
      if (strategy === "block") args.abort(message, { metadata: detail });
      return this.#tellOnce(args, "over", message);
    }
    if (warnAtPercent !== undefined && cost >= (limit * warnAtPercent) / 100) {
      this.#tellOnce(args, "near", `${round(cost)} of ${limit} are used`);
    }
  }

  async #cost(args: ProcessInputStepArgs): Promise<CostReport | undefined> {
    const { getCost, prices } = this.#options;
    if (!getCost) return this.#scope === "run" && prices ? costOf(args.steps, prices) : undefined;
    const id = idOf(this.#scope, args);
    if (id === undefined) return undefined;
    try {
      const since = new Date(args.system.now() - this.#windowMs);
      const found = await getCost({ scope: this.#scope, id, since });
      return typeof found === "number" ? { cost: found } : found;
    } catch (error) {
      args.logger.warn(`getCost of processor "${this.id}" threw`, error);
      return undefined;
    }
  }

  #tellOnce({ state, logger }: ProcessInputStepArgs, what: string, message: string): void {
    if (state[what]) return;
    state[what] = true;
    logger.warn(`Processor "${this.id}": ${message}`);
  }
}

function idOf(scope: CostScope, args: ProcessInputStepArgs): string | undefined {
  if (scope === "run") return args.runId;
  if (scope === "resource") return args.resourceId;
  if (scope === "thread") return args.threadId;
  const id: unknown = args.requestContext.get(`${scope}Id`);
  return typeof id === "string" ? id : undefined;
}

/** What steps cost, by model. Unknown if the price of one is. */
function costOf(
  steps: readonly StepResult[],
  prices: Readonly<Record<string, TokenPrice>>,
): CostReport | undefined {
  const breakdown: Record<string, number> = {};
  for (const { usage, response, content } of steps) {
    const start = content.find((part) => part.type === "step-start");
    // A step knows its model without the provider.
    const names = [start?.model, response.modelId];
    const model = Object.keys(prices).find(
      (key) => names.includes(key) || names.includes(key.replace(/^[^/]*\//, "")),
    );
    if (model === undefined) return undefined;
    const price = prices[model]!;
    const cached = usage.cachedInputTokens ?? 0;
    const fresh = (usage.inputTokens ?? 0) - cached;
    const tokens =
      fresh * price.input +
      cached * (price.cachedInput ?? price.input) +
      (usage.outputTokens ?? 0) * price.output;
    breakdown[model] = (breakdown[model] ?? 0) + tokens / 1_000_000;
  }
  return { cost: Object.values(breakdown).reduce((sum, one) => sum + one, 0), breakdown };
}

function round(cost: number): number {
  return Math.round(cost * 10_000) / 10_000;
}
