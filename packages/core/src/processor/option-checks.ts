import { AgentError, showValue } from "../errors.ts";

/** Validates the options of a processor. Errors name the processor, the option and its value. */
export class OptionChecks {
  readonly #owner: string;

  constructor(owner: string) {
    this.#owner = owner;
  }

  refuse(option: string, value: unknown, wanted: string): never {
    throw new AgentError(
      "invalid-argument",
      `\`${option}\` of ${this.#owner} must be ${wanted}, got ${showValue(value)}.`,
    );
  }

  oneOf<Value extends string>(option: string, value: unknown, allowed: readonly Value[]): Value {
    if (allowed.includes(value as Value)) return value as Value;
    return this.refuse(option, value, `one of ${allowed.map((one) => `"${one}"`).join(", ")}`);
  }

  /** A number from `min` to `max`. */
  number(option: string, value: unknown, min: number, max: number = Infinity): number {
    if (typeof value === "number" && value >= min && value <= max) return value;
    const wanted = max === Infinity ? `a number, ${min} or more` : `a number from ${min} to ${max}`;
    return this.refuse(option, value, wanted);
  }

  integer(option: string, value: unknown, min: number): number {
    if (Number.isSafeInteger(value) && (value as number) >= min) return value as number;
    return this.refuse(option, value, `a whole number, ${min} or more`);
  }

  boolean(option: string, value: unknown): boolean {
    return typeof value === "boolean" ? value : this.refuse(option, value, "true or false");
  }

  string(option: string, value: unknown): string {
    return typeof value === "string" ? value : this.refuse(option, value, "a text");
  }

  names<Name extends string>(option: string, value: unknown, least = 1): Name[] {
    const isName = (one: unknown): boolean => typeof one === "string" && one !== "";
    if (Array.isArray(value) && value.length >= least && value.every(isName)) return value as Name[];
    return this.refuse(option, value, least > 0 ? "a list with at least one name" : "a list of names");
  }

  func<Function>(option: string, value: Function): Function {
    return value === undefined || typeof value === "function"
      ? value
      : this.refuse(option, value, "a function");
  }
}
