import {
  type GetPromptResult,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
} from "@modelcontextprotocol/server";
import { PROMPT_VERSION_META, withoutVersion } from "../prompt-version.ts";
import { listingExtra } from "./call-extra.ts";
import type { Conversation } from "./conversation.ts";
import { invalidParams } from "./invalid-params.ts";
import { publicMessage } from "./public-message.ts";
import type { MCPServerPrompts } from "./server-config.ts";
import type { ServerParts } from "./server-parts.ts";

/** Answers `prompts/list` and `prompts/get`. The wire has no versions, so they travel as metadata. */
export function handlePrompts(server: Server, parts: ServerParts, prompts: MCPServerPrompts): void {
  server.setRequestHandler("prompts/list", async (_request, ctx) => ({
    prompts: (await prompts.listPrompts({ extra: listingExtra(ctx) })).map(withoutVersion),
  }));
  server.setRequestHandler("prompts/get", ({ params }, ctx) => {
    const version = ctx.mcpReq._meta?.[PROMPT_VERSION_META];
    const { name, arguments: args } = params;
    const asked = { name, ...(args && { args }), ...(typeof version === "string" && { version }) };
    return parts.converse(server, ctx, asked, true, async (conversation) => {
      try {
        return await getPrompt(prompts, asked, conversation);
      } catch (thrown) {
        if (ProtocolError.isInstance(thrown)) throw thrown;
        throw new ProtocolError(
          ProtocolErrorCode.InternalError,
          publicMessage(`Prompt "${name}"`, thrown, parts),
        );
      }
    });
  });
}

async function getPrompt(
  prompts: MCPServerPrompts,
  asked: { name: string; args?: Record<string, string>; version?: string },
  { extra }: Conversation,
): Promise<GetPromptResult> {
  const { name, args, version } = asked;
  const prompt = (await prompts.listPrompts({ extra })).find(
    (listed) => listed.name === name && (version === undefined || listed.version === version),
  );
  const shown = version === undefined ? `"${name}"` : `"${name}" in version "${version}"`;
  if (!prompt) throw invalidParams(`There is no prompt ${shown}.`);
  const missing = (prompt.arguments ?? []).filter(
    (argument) => argument.required && args?.[argument.name] === undefined,
  );
  if (missing.length > 0)
    throw invalidParams(`Prompt ${shown} needs: ${missing.map((argument) => argument.name).join(", ")}.`);
  if (!prompts.getPromptMessages) throw invalidParams(`Prompt ${shown} is listed, but cannot be read.`);
  const chosen = version ?? prompt.version;
  const given = await prompts.getPromptMessages({
    name,
    ...(chosen !== undefined && { version: chosen }),
    args: args ?? {},
    extra,
  });
  const messages = Array.isArray(given) ? given : given.messages;
  const description = (Array.isArray(given) ? undefined : given.prompt?.description) ?? prompt.description;
  return { ...(description !== undefined && { description }), messages };
}
