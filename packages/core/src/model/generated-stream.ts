import type { LanguageModelV4Content, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { LanguageModel } from "./model.ts";

/** Lets a model that can only generate, such as a test double, be read as a stream. */
export function withStream(model: LanguageModel): LanguageModel {
  return {
    specificationVersion: "v4",
    provider: model.provider,
    modelId: model.modelId,
    get supportedUrls() {
      return model.supportedUrls;
    },
    doGenerate: (options) => model.doGenerate(options),
    async doStream(options) {
      const { content, finishReason, usage, warnings, response, request, providerMetadata } =
        await model.doGenerate(options);
      const parts: LanguageModelV4StreamPart[] = [
        { type: "stream-start", warnings: warnings ?? [] },
        ...(response ? [{ type: "response-metadata" as const, ...response }] : []),
        ...content.flatMap(toParts),
        { type: "finish", finishReason, usage, ...(providerMetadata && { providerMetadata }) },
      ];
      const stream = new ReadableStream<LanguageModelV4StreamPart>({
        start(controller) {
          for (const part of parts) controller.enqueue(part);
          controller.close();
        },
      });
      return { stream, ...(request && { request }) };
    },
  };
}

function toParts(content: LanguageModelV4Content, index: number): LanguageModelV4StreamPart[] {
  if (content.type !== "text" && content.type !== "reasoning") return [content];
  const id = String(index);
  const meta = content.providerMetadata && { providerMetadata: content.providerMetadata };
  return [
    { type: `${content.type}-start`, id, ...meta },
    { type: `${content.type}-delta`, id, delta: content.text },
    { type: `${content.type}-end`, id },
  ];
}
