import { ProtocolError, type CallToolResult, type Server } from "@modelcontextprotocol/server";
import { callTool } from "./call-tool.ts";
import type { Conversation } from "./conversation.ts";
import { publicMessage } from "./public-message.ts";
import type { ServedTool } from "./served-tool.ts";
import type { ServerParts } from "./server-parts.ts";
import { errorResult, toCallToolResult } from "./tool-result.ts";

/** Handles `tools/list` and `tools/call`. A tool's failure is a result that the model can read. */
export function handleTools(server: Server, parts: ServerParts): void {
  server.setRequestHandler("tools/list", () => ({
    tools: [...parts.tools.values()].map(({ wire }) => wire),
  }));
  server.setRequestHandler("tools/call", async ({ params }, ctx) => {
    const { name, arguments: args = {} } = params;
    const served = parts.tools.get(name);
    if (!served) return errorResult(`There is no tool "${name}" on this server.`);
    const repeatable = served.tool.definition.idempotent === true;
    return parts.converse(server, ctx, { name, args }, repeatable, (conversation) =>
      answerCall(served, args, conversation, parts).then((result) =>
        server.projectCallToolResult(result, served.wire.outputSchema),
      ),
    );
  });
}

async function answerCall(
  served: ServedTool,
  args: unknown,
  { extra, ask, progress }: Conversation,
  parts: ServerParts,
): Promise<CallToolResult> {
  const { name } = served.wire;
  const writer = { write: progress, custom: ({ data }: { data: unknown }) => progress(data) };
  try {
    const options = {
      messages: [],
      toolCallId: "",
      idempotencyKey: parts.system.newId(),
      abortSignal: extra.signal,
      writer,
      writableStream: writer,
      elicitation: {
        sendRequest: (request) =>
          ask({ method: "elicitation/create", params: { ...request } }) as Promise<{ action: "accept" }>,
      },
      extra,
    } satisfies Parameters<typeof callTool>[2];
    const output = await callTool(served, args, options, parts.guard);
    return toCallToolResult(output, served.wire.outputSchema !== undefined);
  } catch (thrown) {
    // An error with a protocol code, such as a missing client capability, is not a failure of the tool.
    if (ProtocolError.isInstance(thrown)) throw thrown;
    return errorResult(publicMessage(`Tool "${name}"`, thrown, parts, extra.authInfo));
  }
}
