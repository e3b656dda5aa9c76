import { SafePattern } from "./safe-pattern.ts";

/** Patterns of personal data and secrets. Each is linear: it starts in few places, and its repetitions are bounded. */
const TOKEN = String.raw`[\w.~+/=-]`;

type TextPatternName =
  | "email"
  | "phone"
  | "ssn"
  | "credit-card"
  | "api-key"
  | "bearer-token"
  | "aws-key"
  | "url"
  | "ip-address"
  | "uuid"
  | "crypto-wallet"
  | "iban";

export const TEXT_PATTERNS: Readonly<Record<TextPatternName, SafePattern>> = {
  email: linear(String.raw`(?<![\w.+-])[\w.+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}`),
  phone: linear(
    String.raw`(?<![\w+.-])(?:\+\d{1,3}(?:[ .-]?\(?\d{2,4}\)?){2,4}|(?:1[ .-]?)?\(?\d{3}\)?[ .-]?\d{3}[ .-]?\d{4})(?![\w-])`,
  ),
  ssn: linear(String.raw`(?<![\w-])\d{3}-\d{2}-\d{4}(?![\w-])`),
  "credit-card": linear(String.raw`(?<![\w-])(?:\d[ -]?){12,18}\d(?![\w-])`),
  "api-key": linear(
    `(?<![A-Za-z0-9])(?:[sprk]k[-_](?:live_|test_|proj-)?|gh[pousr]_|github_pat_|glpat-|AIza|xox[abposre]-|npm_|pypi-|hf_)${TOKEN}{16,256}(?<!\\.)`,
  ),
  "bearer-token": linear(`(?<![A-Za-z0-9])[Bb]earer ${TOKEN}{16,2000}(?<!\\.)`),
  "aws-key": linear(String.raw`(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])`),
  url: linear(String.raw`(?<!\w)https?:\/\/[^\s<>"'()[\]{}]{1,2000}(?<![.,;:!?])`),
  "ip-address": linear(
    String.raw`(?<![\w.:])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3}|(?:[0-9a-fA-F]{1,4}:){2,7}:?[0-9a-fA-F]{1,4})(?![\w:])`,
  ),
  uuid: linear(String.raw`(?<![\w-])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![\w-])`),
  "crypto-wallet": linear(
    String.raw`(?<!\w)(?:0x[0-9a-fA-F]{40}|bc1[a-z0-9]{25,62}|[13][1-9A-HJ-NP-Za-km-z]{25,34})(?!\w)`,
  ),
  iban: linear(String.raw`(?<!\w)[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?!\w)`),
};

function linear(source: string): SafePattern {
  return new SafePattern(new RegExp(source), true);
}
