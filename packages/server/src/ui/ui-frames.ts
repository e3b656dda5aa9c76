import { wireValue } from "../wire-value.ts";

/** The headers of a UI message stream. */
export const UI_HEADERS: Readonly<Record<string, string>> = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
  "x-content-type-options": "nosniff",
  "x-vercel-ai-ui-message-stream": "v1",
};

/** Converts the parts of a UI message stream to the bytes of a response. */
export function uiFrames(): TransformStream<object, Uint8Array> {
  const encoder = new TextEncoder();
  return new TransformStream({
    transform: (part, controller) =>
      controller.enqueue(encoder.encode(`data: ${JSON.stringify(part, wireValue)}\n\n`)),
    flush: (controller) => controller.enqueue(encoder.encode("data: [DONE]\n\n")),
  });
}
