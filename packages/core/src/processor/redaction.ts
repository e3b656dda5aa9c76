import { createHash } from "node:crypto";
import type { TextHit } from "./text-hits.ts";

export type RedactionMethod = "mask" | "hash" | "remove" | "placeholder";

/** The last characters of these stay, so that a person can tell them apart. */
const SHOWS_END: ReadonlySet<string> = new Set(["phone", "credit-card", "ssn", "iban"]);
const SHOWN = 4;

/** The replacement for a finding. */
export function redaction(
  { type, value }: TextHit,
  method: RedactionMethod,
  preserveFormat: boolean,
): string {
  switch (method) {
    case "remove":
      return "";
    case "hash":
      return `[HASH:${createHash("sha256").update(value).digest("hex").slice(0, 16)}]`;
    case "placeholder":
      return `[${type.toUpperCase().replaceAll("-", "_")}]`;
    case "mask":
      return preserveFormat ? mask(value, SHOWS_END.has(type) ? SHOWN : 0) : "*".repeat(value.length);
  }
}

function mask(value: string, shown: number): string {
  const end = value.length - shown;
  return value.replaceAll(/[\p{L}\p{N}]/gu, (character, at: number) => (at < end ? "*" : character));
}
