/** A model that answers from a list: text, or calls of tools. It has the form that provider packages and test doubles share. */
export type Reply =
  | string
  | { calls: { tool: string; input: unknown }[] }
  | { reasoning: string; text: string }
  | { error: unknown };

export interface ScriptedModel {
  specificationVersion: "v2" | "v3" | "v4";
  provider: string;
  modelId: string;
  supportedUrls: Record<string, RegExp[]>;
  prompts: any[];
  doGenerate(options: any): Promise<any>;
  doStream(options: any): Promise<any>;
}

export function scripted(
  replies: readonly Reply[],
  version: "v2" | "v3" | "v4" = "v2",
): ScriptedModel & Record<string, any> {
  const prompts: any[] = [];
  let asked = 0;
  const next = (options: any): Reply => {
    prompts.push(options);
    const reply = replies[Math.min(asked, replies.length - 1)]!;
    asked += 1;
    if (typeof reply === "object" && "error" in reply) throw reply.error;
    return reply;
  };
  const usage =
    version === "v2"
      ? { inputTokens: 10, outputTokens: 5, totalTokens: 15 }
      : {
          inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: 5, text: 5, reasoning: 0 },
        };
  const reason = (value: "stop" | "tool-calls") =>
    version === "v2" ? value : { unified: value, raw: value };
  const content = (reply: Reply): any[] => {
    if (typeof reply === "string") return [{ type: "text", text: reply }];
    if ("calls" in reply)
      return reply.calls.map((call, index) => ({
        type: "tool-call",
        toolCallId: `call-${asked}-${index}`,
        toolName: call.tool,
        input: JSON.stringify(call.input),
      }));
    if ("reasoning" in reply)
      return [
        { type: "reasoning", text: reply.reasoning },
        { type: "text", text: reply.text },
      ];
    return [];
  };
  const ending = (reply: Reply) =>
    reason(typeof reply === "object" && "calls" in reply ? "tool-calls" : "stop");
  return {
    specificationVersion: version,
    provider: "scripted",
    modelId: "scripted-1",
    supportedUrls: {},
    prompts,
    async doGenerate(options: any) {
      const reply = next(options);
      return { content: content(reply), finishReason: ending(reply), usage, warnings: [] };
    },
    async doStream(options: any) {
      const reply = next(options);
      const parts: any[] = [{ type: "stream-start", warnings: [] }];
      for (const [index, part] of content(reply).entries()) {
        const id = `part-${index}`;
        if (part.type === "tool-call") parts.push(part);
        else {
          parts.push({ type: `${part.type}-start`, id });
          for (const word of part.text.split(/(?<= )/))
            parts.push({ type: `${part.type}-delta`, id, delta: word });
          parts.push({ type: `${part.type}-end`, id });
        }
      }
      parts.push({ type: "finish", finishReason: ending(reply), usage });
      return { stream: ReadableStream.from(parts) };
    },
  };
}
