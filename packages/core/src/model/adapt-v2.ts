import type {
  LanguageModelV2,
  LanguageModelV2CallOptions,
  LanguageModelV2CallWarning,
  LanguageModelV2Content,
  LanguageModelV2FinishReason,
  LanguageModelV2Prompt,
  LanguageModelV2StreamPart,
  LanguageModelV2ToolResultOutput,
  LanguageModelV2Usage,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolResult,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4Usage,
  SharedV4Warning,
} from "@ai-sdk/provider";
import { fileReferenceUnsupported, lowerFileData, lowerPrompt, toBase64 } from "./lower-prompt.ts";
import { mapStream } from "./map-stream.ts";
import type { LanguageModel } from "./model.ts";

/** Adapts a specification v2 model to v4: converts prompts and tools down, and parts and usage up. */
export function adaptV2(model: LanguageModelV2): LanguageModel {
  return {
    specificationVersion: "v4",
    provider: model.provider,
    modelId: model.modelId,
    get supportedUrls() {
      return model.supportedUrls;
    },
    async doGenerate(options) {
      const result = await model.doGenerate(lowerOptions(options));
      return {
        ...result,
        content: result.content.map(raiseContent),
        finishReason: raiseFinishReason(result.finishReason),
        usage: raiseUsage(result.usage),
        warnings: result.warnings.map(raiseWarning),
      };
    },
    async doStream(options) {
      const result = await model.doStream(lowerOptions(options));
      return { ...result, stream: mapStream(result.stream, raisePart) };
    },
  };
}

function raisePart(part: LanguageModelV2StreamPart): LanguageModelV4StreamPart {
  switch (part.type) {
    case "finish":
      return { ...part, finishReason: raiseFinishReason(part.finishReason), usage: raiseUsage(part.usage) };
    case "stream-start":
      return { ...part, warnings: part.warnings.map(raiseWarning) };
    case "file":
    case "tool-result":
      return raiseContent(part) as LanguageModelV4StreamPart;
    default:
      return part;
  }
}

function raiseContent(part: LanguageModelV2Content): LanguageModelV4Content {
  if (part.type === "file") return { ...part, data: { type: "data", data: part.data } };
  if (part.type !== "tool-result") return part;
  const { providerExecuted: _, ...result } = part;
  // v4 has no empty result; v2 allowed any value.
  return { ...result, result: (part.result ?? "") as LanguageModelV4ToolResult["result"] };
}

function raiseFinishReason(reason: LanguageModelV2FinishReason): LanguageModelV4FinishReason {
  return { unified: reason === "unknown" ? "other" : reason, raw: reason };
}

function raiseUsage(usage: LanguageModelV2Usage): LanguageModelV4Usage {
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens } = usage;
  return {
    inputTokens: {
      total: inputTokens,
      noCache: difference(inputTokens, cachedInputTokens),
      cacheRead: cachedInputTokens,
      cacheWrite: undefined,
    },
    outputTokens: {
      total: outputTokens,
      text: difference(outputTokens, reasoningTokens),
      reasoning: reasoningTokens,
    },
    raw: { ...usage },
  };
}

function difference(total: number | undefined, part: number | undefined): number | undefined {
  return total === undefined || part === undefined ? undefined : Math.max(0, total - part);
}

function raiseWarning(warning: LanguageModelV2CallWarning): SharedV4Warning {
  if (warning.type === "other") return warning;
  const feature =
    warning.type === "unsupported-setting" ? String(warning.setting) : `tool ${warning.tool.name}`;
  return { type: "unsupported", feature, ...(warning.details !== undefined && { details: warning.details }) };
}

function lowerOptions({
  reasoning: _reasoning,
  prompt,
  tools,
  ...options
}: LanguageModelV4CallOptions): LanguageModelV2CallOptions {
  return {
    ...options,
    prompt: lowerPrompt(prompt, lowerPart) as LanguageModelV2Prompt,
    ...(tools && { tools: tools.map(lowerTool) }),
  } as LanguageModelV2CallOptions;
}

function lowerTool(tool: NonNullable<LanguageModelV4CallOptions["tools"]>[number]): object {
  if (tool.type === "provider") return { ...tool, type: "provider-defined" };
  const { inputExamples: _examples, strict: _strict, ...lowered } = tool;
  return lowered;
}

function lowerPart(part: Parameters<Parameters<typeof lowerPrompt>[1]>[0]): unknown {
  switch (part.type) {
    case "file":
      return { ...part, data: lowerFileData(part.data) };
    case "tool-result":
      return { ...part, output: lowerOutput(part.output) };
    case "custom":
    case "reasoning-file":
    case "tool-approval-response":
      return undefined;
    default:
      return part;
  }
}

function lowerOutput(output: LanguageModelV4ToolResultOutput): LanguageModelV2ToolResultOutput {
  switch (output.type) {
    case "execution-denied":
      return { type: "error-text", value: output.reason ?? "The execution of this tool was denied." };
    case "content":
      return { type: "content", value: output.value.flatMap(lowerOutputPart) };
    default:
      return { type: output.type, value: output.value } as LanguageModelV2ToolResultOutput;
  }
}

type OutputPart = Extract<LanguageModelV4ToolResultOutput, { type: "content" }>["value"][number];
type OutputPartV2 = Extract<LanguageModelV2ToolResultOutput, { type: "content" }>["value"][number];

function lowerOutputPart(part: OutputPart): OutputPartV2[] {
  if (part.type === "custom") return [];
  if (part.type === "text") return [{ type: "text", text: part.text }];
  switch (part.data.type) {
    case "text":
      return [{ type: "text", text: part.data.text }];
    case "data":
      return [{ type: "media", data: toBase64(part.data.data), mediaType: part.mediaType }];
    case "url":
      // v2 has no link in a tool result; the URL as text is the closest form.
      return [{ type: "text", text: part.data.originalUrl ?? part.data.url.href }];
    case "reference":
      throw fileReferenceUnsupported(part.data.reference);
  }
}
