import type { LanguageModelV4Message, LanguageModelV4Prompt } from "@ai-sdk/provider";

/** A message as the model contract takes it. */
export type ModelMessage = LanguageModelV4Message;
export type ModelPrompt = LanguageModelV4Prompt;
