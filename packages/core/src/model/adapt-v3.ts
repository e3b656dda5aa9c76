import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3File,
  LanguageModelV3Prompt,
  LanguageModelV3ToolResultOutput,
  LanguageModelV4CallOptions,
  LanguageModelV4File,
  LanguageModelV4ToolResultOutput,
} from "@ai-sdk/provider";
import { lowerFileData, lowerPrompt, toBase64 } from "./lower-prompt.ts";
import { mapStream } from "./map-stream.ts";
import type { LanguageModel } from "./model.ts";

/** Adapts a specification v3 model to v4: converts prompts down and parts up. */
export function adaptV3(model: LanguageModelV3): LanguageModel {
  return {
    specificationVersion: "v4",
    provider: model.provider,
    modelId: model.modelId,
    get supportedUrls() {
      return model.supportedUrls;
    },
    async doGenerate(options) {
      const result = await model.doGenerate(lowerOptions(options));
      return { ...result, content: result.content.map(raise) };
    },
    async doStream(options) {
      const result = await model.doStream(lowerOptions(options));
      return { ...result, stream: mapStream(result.stream, raise) };
    },
  };
}

/** Generated files are the only part whose shape changed from v3 to v4. */
function raise<Part extends { type: string }>(
  part: Part | LanguageModelV3File,
): Exclude<Part, LanguageModelV3File> | LanguageModelV4File {
  if (part.type !== "file") return part as Exclude<Part, LanguageModelV3File>;
  const file = part as LanguageModelV3File;
  return { ...file, data: { type: "data", data: file.data } };
}

function lowerOptions({
  reasoning: _reasoning,
  prompt,
  ...options
}: LanguageModelV4CallOptions): LanguageModelV3CallOptions {
  return { ...options, prompt: lowerPrompt(prompt, lowerPart) as LanguageModelV3Prompt };
}

function lowerPart(part: Parameters<Parameters<typeof lowerPrompt>[1]>[0]): unknown {
  switch (part.type) {
    case "file":
      return { ...part, data: lowerFileData(part.data) };
    case "tool-result":
      return part.output.type === "content" ? { ...part, output: lowerOutput(part.output) } : part;
    case "custom":
    case "reasoning-file":
      return undefined;
    default:
      return part;
  }
}

type ContentOutput = Extract<LanguageModelV4ToolResultOutput, { type: "content" }>;
type ContentOutputV3 = Extract<LanguageModelV3ToolResultOutput, { type: "content" }>;

function lowerOutput(output: ContentOutput): ContentOutputV3 {
  return { type: "content", value: output.value.map(lowerOutputPart) };
}

function lowerOutputPart(part: ContentOutput["value"][number]): ContentOutputV3["value"][number] {
  if (part.type !== "file") return part;
  const { data, mediaType, filename, providerOptions } = part;
  const own = providerOptions && { providerOptions };
  const isImage = mediaType === "image" || mediaType.startsWith("image/");
  switch (data.type) {
    case "text":
      return { type: "text", text: data.text, ...own };
    case "data": {
      const base64 = toBase64(data.data);
      if (isImage) return { type: "image-data", data: base64, mediaType, ...own };
      return {
        type: "file-data",
        data: base64,
        mediaType,
        ...(filename !== undefined && { filename }),
        ...own,
      };
    }
    case "url":
      return { type: isImage ? "image-url" : "file-url", url: data.originalUrl ?? data.url.href, ...own };
    case "reference":
      return { type: isImage ? "image-file-id" : "file-id", fileId: data.reference, ...own };
  }
}
