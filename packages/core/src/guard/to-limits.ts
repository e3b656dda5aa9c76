import { AgentError, showValue } from "../errors.ts";

/** Fills in default limits. A value that is not a number would disable the limit, so it is refused. */
export function toLimits<Limits extends { [Name in keyof Limits]: number }>(
  defaults: Limits,
  given: Partial<Limits> | undefined,
): Limits {
  const limits = { ...defaults };
  for (const [name, value] of Object.entries<unknown>(given ?? {})) {
    if (value === undefined) continue;
    if (!Object.hasOwn(defaults, name))
      throw new AgentError(
        "invalid-argument",
        `Unknown limit "${name}". Limits are ${Object.keys(defaults).join(", ")}.`,
      );
    if (typeof value !== "number" || !(value >= 0))
      throw new AgentError("invalid-argument", `limits.${name} must be 0 or more, got ${showValue(value)}.`);
    Object.assign(limits, { [name]: value });
  }
  return limits;
}
