import type { LanguageModelV4Message, LanguageModelV4Prompt } from "@ai-sdk/provider";

/** A message in the model contract's form. */
export type ModelMessage = LanguageModelV4Message;
export type ModelPrompt = LanguageModelV4Prompt;
