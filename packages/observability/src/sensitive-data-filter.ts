import type { Attributes, AttributeValue } from "@opentelemetry/api";

const FIELDS = [
  "password",
  "token",
  "secret",
  "key",
  "apikey",
  "auth",
  "authorization",
  "bearer",
  "bearertoken",
  "jwt",
  "credential",
  "clientsecret",
  "privatekey",
  "refresh",
  "ssn",
  "cookie",
];

export interface SensitiveDataFilterOptions {
  /** Names of fields whose values are replaced. Case, `-` and `_` do not matter. */
  sensitiveFields?: string[];
  /** Default: `[REDACTED]`. */
  redactionToken?: string;
}

/** Replaces the values of fields such as `password` in spans, also inside JSON. */
export class SensitiveDataFilter {
  readonly name = "sensitive-data-filter";
  readonly #fields: ReadonlySet<string>;
  readonly #token: string;

  constructor({ sensitiveFields = FIELDS, redactionToken = "[REDACTED]" }: SensitiveDataFilterOptions = {}) {
    this.#fields = new Set(sensitiveFields.map(toName));
    this.#token = redactionToken;
  }

  /** The attributes of a span, redacted. */
  redact(attributes: Attributes): Attributes {
    return Object.fromEntries(
      Object.entries(attributes).map(([name, value]) => [name, this.#attribute(name, value)]),
    );
  }

  #attribute(name: string, value: AttributeValue | undefined): AttributeValue | undefined {
    // The last word of a dotted name: "selvedge.metadata.apiKey".
    if (this.#fields.has(toName(name.slice(name.lastIndexOf(".") + 1)))) return this.#token;
    if (typeof value !== "string" || !/^\s*[[{]/.test(value)) return value;
    try {
      return JSON.stringify(this.#value(JSON.parse(value)));
    } catch {
      return value; // Text that looks like JSON.
    }
  }

  #value(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#value(item));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [
        name,
        this.#fields.has(toName(name)) ? this.#token : this.#value(item),
      ]),
    );
  }
}

function toName(name: string): string {
  return name.toLowerCase().replaceAll(/[-_\s]/g, "");
}
