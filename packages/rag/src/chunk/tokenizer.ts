import { AgentError } from "@selvedge/core/errors";

/** Counts the tokens of a text. */
export type CountTokens = (text: string) => number;

const ENCODINGS: Readonly<
  Record<string, () => Promise<{ countTokens: (text: string, options: object) => number }>>
> = {
  r50k_base: () => import("gpt-tokenizer/encoding/r50k_base"),
  gpt2: () => import("gpt-tokenizer/encoding/r50k_base"),
  p50k_base: () => import("gpt-tokenizer/encoding/p50k_base"),
  p50k_edit: () => import("gpt-tokenizer/encoding/p50k_edit"),
  cl100k_base: () => import("gpt-tokenizer/encoding/cl100k_base"),
  o200k_base: () => import("gpt-tokenizer/encoding/o200k_base"),
};

const DEFAULT_ENCODING = "cl100k_base";
/** Text that looks like a control token counts as text. */
const PLAIN = { disallowedSpecial: new Set<string>() };

/** A token counter, loaded on first use. */
export async function loadTokenizer({
  encodingName,
  modelName,
}: { encodingName?: string | undefined; modelName?: string | undefined } = {}): Promise<CountTokens> {
  const name = encodingName ?? (modelName === undefined ? DEFAULT_ENCODING : encodingOf(modelName));
  if (!Object.hasOwn(ENCODINGS, name)) {
    throw new AgentError(
      "invalid-argument",
      `There is no encoding ${JSON.stringify(name)}. Encodings are ${Object.keys(ENCODINGS).join(", ")}`,
    );
  }
  const { countTokens } = await ENCODINGS[name]!().catch(explain);
  return (text) => countTokens(text, PLAIN);
}

function explain(error: unknown): never {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== "ERR_MODULE_NOT_FOUND" && code !== "MODULE_NOT_FOUND") throw error;
  throw new AgentError(
    "invalid-argument",
    "Splitting by tokens needs the package gpt-tokenizer, which is not installed. Run `npm install gpt-tokenizer`, or split by characters (strategy: recursive).",
    { cause: error },
  );
}

/** Newer models all use the same encoding; the older families are listed. */
function encodingOf(modelName: string): string {
  const name = modelName.slice(modelName.lastIndexOf("/") + 1);
  if (/^(gpt-4o|gpt-4\.|gpt-5|chatgpt-4o|o\d)/.test(name)) return "o200k_base";
  if (/^(gpt-4|gpt-3\.5|text-embedding-)/.test(name)) return "cl100k_base";
  if (/^(text-davinci-00[23]|code-)/.test(name)) return "p50k_base";
  if (/^(gpt2|davinci|curie|babbage|ada)/.test(name)) return "r50k_base";
  throw new AgentError(
    "invalid-argument",
    `The encoding of the model ${JSON.stringify(modelName)} is not known; name it with encodingName`,
  );
}
