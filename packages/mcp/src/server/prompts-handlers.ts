import type { GetPromptResult, Server } from "@modelcontextprotocol/server";
import { PROMPT_VERSION_META, withoutVersion } from "../prompt-version.ts";
import { answerHandler } from "./answer-handler.ts";
import { type CallExtra, listingExtra } from "./call-extra.ts";
import { invalidParams } from "./invalid-params.ts";
import type { MCPServerPrompts } from "./server-config.ts";
import type { ServerParts } from "./server-parts.ts";

/** Handles `prompts/list` and `prompts/get`. The wire format has no versions, so they are sent as metadata. */
export function handlePrompts(server: Server, parts: ServerParts, prompts: MCPServerPrompts): void {
  server.setRequestHandler("prompts/list", (_request, ctx) =>
    answerHandler("The list of prompts", listingExtra(ctx), parts, async (extra) => ({
      prompts: (await prompts.listPrompts({ extra })).map(withoutVersion),
    })),
  );
  server.setRequestHandler("prompts/get", ({ params }, ctx) => {
    const version = ctx.mcpReq._meta?.[PROMPT_VERSION_META];
    const { name, arguments: args } = params;
    const asked = { name, ...(args && { args }), ...(typeof version === "string" && { version }) };
    return parts.converse(server, ctx, asked, true, (conversation) =>
      answerHandler(`Prompt "${name}"`, conversation.extra, parts, (extra) =>
        getPrompt(prompts, asked, extra),
      ),
    );
  });
}

async function getPrompt(
  prompts: MCPServerPrompts,
  asked: { name: string; args?: Record<string, string>; version?: string },
  extra: CallExtra,
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
