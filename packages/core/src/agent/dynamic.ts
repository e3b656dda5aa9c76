import type { RequestContext } from "../request-context/request-context.ts";

/** The arguments of a dynamic argument. */
export interface DynamicContext {
  requestContext: RequestContext<any>;
  /** The older name of `requestContext`. */
  runtimeContext: RequestContext<any>;
  mastra?: any;
}

/** A value, or a function of the request that gives it. */
export type DynamicArgument<Value> = Value | ((context: DynamicContext) => Value | Promise<Value>);

export function resolveDynamic<Value>(
  argument: DynamicArgument<Value>,
  context: DynamicContext,
): Value | Promise<Value> {
  return typeof argument === "function"
    ? (argument as (context: DynamicContext) => Value | Promise<Value>)(context)
    : argument;
}
