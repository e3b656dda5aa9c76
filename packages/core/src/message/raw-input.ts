import { isObject } from "@selvedge/protocol";
import type { LanguageModelV4ToolResultOutput } from "@ai-sdk/provider";
import type { ToolInvocation } from "@selvedge/protocol";

const MAX_SHOWN = 4000;

/**
 * Whether a call's input is not an object, for instance because the reply was cut off. A tool may accept text as input;
 * it then has a result.
 */
export function isMalformed(call: ToolInvocation): boolean {
  const { args } = call;
  if (args === undefined || args === null || isObject(args) || call.providerExecuted) return false;
  const answered = call.state === "result" && call.isError !== true;
  return typeof args !== "string" || !answered;
}

/** Adds what the model wrote to the result, since the call itself cannot show it. */
export function withRawInput(
  output: LanguageModelV4ToolResultOutput,
  args: unknown,
): LanguageModelV4ToolResultOutput {
  const rawInput = shorten(typeof args === "string" ? args : JSON.stringify(args));
  const note = `The input of the call was: ${rawInput}`;
  switch (output.type) {
    case "text":
    case "error-text":
      return { ...output, value: `${output.value}\n${note}` };
    case "json":
    case "error-json": {
      const { value } = output;
      return { ...output, value: { ...(isObject(value) ? value : { result: value }), rawInput } };
    }
    case "content":
      return { ...output, value: [...output.value, { type: "text", text: note }] };
    case "execution-denied":
      return { ...output, reason: output.reason === undefined ? note : `${output.reason}\n${note}` };
  }
}

function shorten(text: string): string {
  if (text.length <= MAX_SHOWN) return text;
  return `${text.slice(0, MAX_SHOWN).toWellFormed()}… (${text.length} characters)`;
}
