import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";

type Prompt = LanguageModelV4CallOptions["prompt"];

/** Every message of a simulation carries a name of its own, such as `t1#7`. */
export const TOKEN: RegExp = /\bt\d+#\d+\b/g;

/** What is wrong with a prompt, if anything: a model must be able to make sense of it. */
export function checkPrompt(prompt: Prompt): { invariant: string; message: string } | undefined {
  return checkCalls(prompt) ?? checkTokens(prompt);
}

/** Each call has its one result, before anything else is said. */
function checkCalls(prompt: Prompt): { invariant: string; message: string } | undefined {
  const seen = new Set<string>();
  let open = new Set<string>();
  const wrong = (message: string) => ({ invariant: "I9", message });
  for (const message of prompt) {
    if (message.role === "tool") {
      for (const part of message.content) {
        if (part.type !== "tool-result") continue;
        if (!open.delete(part.toolCallId)) return wrong(`result of ${part.toolCallId} has no call before it`);
      }
      continue;
    }
    if (open.size > 0) return wrong(`call ${[...open].join(", ")} has no result before the next message`);
    if (message.role !== "assistant") continue;
    const results = new Set<string>();
    for (const part of message.content) {
      if (part.type === "tool-result") results.add(part.toolCallId);
      if (part.type !== "tool-call") continue;
      if (seen.has(part.toolCallId)) return wrong(`call ${part.toolCallId} is there twice`);
      seen.add(part.toolCallId);
      open.add(part.toolCallId);
    }
    for (const id of results) open.delete(id);
  }
  return open.size > 0 ? wrong(`call ${[...open].join(", ")} has no result at the end`) : undefined;
}

/** Messages of one thread only, and each once. */
function checkTokens(prompt: Prompt): { invariant: string; message: string } | undefined {
  const seen = new Set<string>();
  const threads = new Set<string>();
  for (const message of prompt) {
    const tokens = JSON.stringify(message.content).match(TOKEN) ?? [];
    for (const token of tokens) threads.add(token.slice(0, token.indexOf("#")));
    if (message.role !== "user") continue;
    for (const token of new Set(tokens)) {
      if (seen.has(token)) return { invariant: "I2", message: `message ${token} is in a prompt twice` };
      seen.add(token);
    }
  }
  if (threads.size <= 1) return undefined;
  return { invariant: "I11", message: `a prompt mixes threads ${[...threads].join(" and ")}` };
}
