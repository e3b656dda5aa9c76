import { estimateTokenCount } from "tokenx";
import type { FileMessagePart, MessagePart, StoredMessage } from "@selvedge/protocol";
import { imageSize } from "./image-size.ts";

/** The cost of a message beyond its content. */
const PER_MESSAGE = 3.8;
const IMAGE_TOKENS = 1000;
const FILE_TOKENS = 1000;
const BYTES_PER_FILE_TOKEN = 100;

/**
 * The approximate number of tokens of a message in a prompt. `provider` decides how images count. Reasoning and
 * `data-*` parts do not count. Called once per message, when it is stored.
 */
export function countTokens(message: StoredMessage, provider?: string): number {
  const { parts, content } = message.content;
  const sum = parts.reduce((total, part) => total + countPart(part, provider), 0);
  return Math.ceil(PER_MESSAGE + (parts.length === 0 && content ? estimateTokenCount(content) : sum));
}

/** The approximate number of tokens of a text. */
export function countText(text: string): number {
  return estimateTokenCount(text);
}

function countPart(part: MessagePart, provider: string | undefined): number {
  if (part.type === "text") return estimateTokenCount(part.text);
  if (part.type === "file") return clientEstimate(part) ?? countFile(part, provider);
  if (part.type !== "tool-invocation") return 0;
  const { toolName, args, result, modelOutput } = part.toolInvocation;
  return estimateTokenCount(toolName) + countJson(args) + countJson(modelOutput ?? result);
}

function countJson(value: unknown): number {
  if (value === undefined) return 0;
  return estimateTokenCount(typeof value === "string" ? value : (JSON.stringify(value) ?? ""));
}

/** The client's own count: `providerMetadata.mastra.tokenEstimate`. */
function clientEstimate(part: FileMessagePart): number | undefined {
  const estimate = part.providerMetadata?.["mastra"]?.["tokenEstimate"] as
    | { v?: unknown; source?: unknown; key?: unknown; tokens?: unknown }
    | undefined;
  if (estimate?.v !== 0 || estimate.source !== "client" || estimate.key !== "client") return undefined;
  const { tokens } = estimate;
  return typeof tokens === "number" && Number.isFinite(tokens) && tokens >= 0 ? tokens : undefined;
}

function countFile({ mimeType, data }: FileMessagePart, provider: string | undefined): number {
  if (!mimeType.startsWith("image")) {
    const bytes = /^https?:/i.test(data) ? 0 : (data.length * 3) / 4;
    return Math.max(FILE_TOKENS, Math.ceil(bytes / BYTES_PER_FILE_TOKEN));
  }
  const size = imageSize(data);
  return size ? countImage(size.width, size.height, provider) : IMAGE_TOKENS;
}

/** Image tokens by the providers' published rules. */
function countImage(width: number, height: number, provider = ""): number {
  if (provider.startsWith("openai") || provider.startsWith("azure")) {
    // Scaled into 2048 x 2048, then to 768 on the short side, and cut into tiles of 512.
    const fit = Math.min(1, 2048 / Math.max(width, height));
    const scale = fit * Math.min(1, 768 / (Math.min(width, height) * fit));
    return 85 + 170 * Math.ceil((width * scale) / 512) * Math.ceil((height * scale) / 512);
  }
  if (provider.startsWith("google")) {
    if (width <= 384 && height <= 384) return 258;
    return 258 * Math.ceil(width / 768) * Math.ceil(height / 768);
  }
  // Anthropic, and providers without a published rule: one token per 750 pixels, scaled down to about 1.15 megapixels.
  return Math.min(1600, Math.ceil((width * height) / 750));
}
