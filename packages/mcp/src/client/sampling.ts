import { AgentError } from "@selvedge/core";
import type { Agent } from "@selvedge/core/agent";
import type { ModelConfig } from "@selvedge/core/model";
import {
  type CreateMessageRequest,
  type CreateMessageResult,
  ProtocolError,
  ProtocolErrorCode,
} from "@modelcontextprotocol/client";

export type SamplingRequest = CreateMessageRequest["params"];

/** Handles a server's completion request entirely. Consent is up to its author. */
export type SamplingHandler = (
  request: SamplingRequest,
  call: { serverName: string; signal?: AbortSignal },
) => Promise<CreateMessageResult> | CreateMessageResult;

/** Lets a server request completions from a model, each with consent. */
export interface SamplingOptions {
  /** Its model answers. Its tools, instructions and memory are not used, because the text comes from the server. */
  agent?: Agent;
  /** A separate model, instead of an agent's. */
  model?: ModelConfig;
  /** Shows the request to the person who pays for it. Anything but `true`, including an error, refuses it. */
  approve(request: SamplingRequest, call: { serverName: string }): boolean | Promise<boolean>;
  /** The maximum answer length, whatever the server asks for. */
  maxTokens?: number;
}

const MAX_TOKENS = 4096;
/** Pending requests per server, so that a user is not worn down by prompts. */
const MAX_WAITING = 4;
/** The protocol's code for "the user said no". */
const REJECTED = -1;

/** Converts the option to a handler. Validates at once: a mistake must not look like a refusal later. */
export function samplingHandler(
  serverName: string,
  given: SamplingHandler | SamplingOptions,
): SamplingHandler {
  if (typeof given === "function") return given;
  const { agent, model, approve, maxTokens = MAX_TOKENS } = given;
  if ((agent === undefined) === (model === undefined))
    throw invalid(serverName, "needs an agent or a model, and not both");
  if (typeof approve !== "function")
    throw invalid(serverName, "needs an approve function: without consent nothing is sampled");
  if (!Number.isInteger(maxTokens) || maxTokens < 1)
    throw invalid(serverName, `has maxTokens ${String(maxTokens)}`);
  let waiting = 0;
  return async (request, { signal }) => {
    const messages = request.messages.map(toMessage);
    if (request.tools?.length) throw refusal("Sampling with tools is not supported.");
    if (waiting >= MAX_WAITING)
      throw refusal("Too many requests from this server are waiting for an answer.");
    waiting++;
    try {
      if (!(await isApproved(() => approve(request, { serverName }))))
        throw new ProtocolError(REJECTED, "The user refused.");
      return await complete(model ?? (await agent!.getModel()), request, messages, maxTokens, signal);
    } finally {
      waiting--;
    }
  };
}

async function isApproved(approve: () => boolean | Promise<boolean>): Promise<boolean> {
  try {
    return (await approve()) === true;
  } catch {
    return false;
  }
}

async function complete(
  model: ModelConfig,
  { systemPrompt, temperature, maxTokens, stopSequences }: SamplingRequest,
  messages: { role: string; content: unknown[] }[],
  limit: number,
  signal: AbortSignal | undefined,
): Promise<CreateMessageResult> {
  const { Agent } = await import("@selvedge/core/agent");
  const agent = new Agent({ name: "mcp-sampling", instructions: systemPrompt ?? "", model });
  const output = await agent.generate(messages, {
    maxSteps: 1,
    modelSettings: {
      maxOutputTokens: Math.min(maxTokens, limit),
      ...(temperature !== undefined && { temperature }),
      ...(stopSequences && { stopSequences }),
    },
    ...(signal && { abortSignal: signal }),
  });
  return {
    role: "assistant",
    content: { type: "text", text: output.text },
    model: output.response.modelId ?? "unknown",
    stopReason: output.finishReason === "length" ? "maxTokens" : "endTurn",
  };
}

function toMessage({ role, content }: SamplingRequest["messages"][number]): {
  role: string;
  content: unknown[];
} {
  const parts = Array.isArray(content) ? content : [content];
  return {
    role,
    content: parts.map((part) => {
      if (part.type === "text") return { type: "text", text: part.text };
      // As bytes: a string here could be taken for a URL to fetch.
      if (part.type === "image" || part.type === "audio")
        return {
          type: "file",
          data: new Uint8Array(Buffer.from(part.data, "base64")),
          mediaType: part.mimeType,
        };
      throw refusal(`Content of type "${part.type}" cannot be sampled here.`);
    }),
  };
}

function refusal(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}

function invalid(serverName: string, why: string): AgentError {
  return new AgentError("invalid-argument", `The sampling option of MCP server "${serverName}" ${why}.`);
}
