import type {
  LanguageModelV4Content,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from "@ai-sdk/provider";

type Version = "v2" | "v3" | "v4";
type Finish = Extract<LanguageModelV4StreamPart, { type: "finish" }>;

/** Stream parts in the shape of an older specification. */
export function lowerParts(parts: readonly LanguageModelV4StreamPart[], version: Version): unknown[] {
  return parts.map((part) => lowerPart(part, version));
}

function lowerPart(part: LanguageModelV4StreamPart | LanguageModelV4Content, version: Version): unknown {
  if (version === "v4") return part;
  if (part.type === "file" && part.data.type === "data") return { ...part, data: part.data.data };
  if (part.type === "finish" && version === "v2") return { ...part, ...lowerFinish(part) };
  return part;
}

function lowerFinish({ finishReason, usage }: Finish): object {
  return { finishReason: finishReason.unified, usage: lowerUsage(usage) };
}

function lowerUsage({ inputTokens, outputTokens }: LanguageModelV4Usage): object {
  return {
    inputTokens: inputTokens.total,
    outputTokens: outputTokens.total,
    totalTokens: (inputTokens.total ?? 0) + (outputTokens.total ?? 0),
    reasoningTokens: outputTokens.reasoning,
    cachedInputTokens: inputTokens.cacheRead,
  };
}

/** What `doGenerate` gives for a reply with these parts. */
export function collectContent(parts: readonly LanguageModelV4StreamPart[], version: Version): unknown {
  const content: unknown[] = [];
  const open = new Map<string, { type: "text" | "reasoning"; text: string }>();
  let finish: Finish | undefined;
  for (const part of parts) {
    switch (part.type) {
      case "text-start":
      case "reasoning-start": {
        const block = {
          type: part.type === "text-start" ? ("text" as const) : ("reasoning" as const),
          text: "",
        };
        open.set(part.id, block);
        content.push(block);
        break;
      }
      case "text-delta":
      case "reasoning-delta":
        open.get(part.id)!.text += part.delta;
        break;
      case "error":
        throw part.error;
      case "finish":
        finish = part;
        break;
      case "file":
      case "source":
      case "tool-call":
      case "tool-result":
        content.push(lowerPart(part, version));
        break;
    }
  }
  if (!finish) throw new Error("The scripted reply ended without a finish part.");
  const end =
    version === "v2" ? lowerFinish(finish) : { finishReason: finish.finishReason, usage: finish.usage };
  return { content, ...end, warnings: [] };
}
