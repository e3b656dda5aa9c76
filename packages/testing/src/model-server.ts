import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

/** One answer of a model server. Counts of events include the first one, which carries only the role. */
export interface ServedReply {
  text?: string | readonly string[];
  reasoning?: string;
  toolCalls?: ReadonlyArray<{ toolName: string; input: unknown; toolCallId?: string }>;
  usage?: { inputTokens: number; outputTokens: number };
  finishReason?: string;
  /** An HTTP error with a JSON body instead of an answer. */
  status?: number;
  error?: string;
  /** Response headers, for example `retry-after`. */
  headers?: Record<string, string>;
  /** Keeps the connection open and says nothing more after so many events; 0 withholds the headers too. */
  stallAfter?: number;
  /** Drops the connection after so many events; 0 drops it before the headers. */
  cutAfter?: number;
  eventDelayMs?: number;
}

export interface ServedRequest {
  path: string;
  headers: IncomingHttpHeaders;
  body: {
    model?: string;
    messages?: unknown[];
    tools?: unknown[];
    stream?: boolean;
    [name: string]: unknown;
  };
}

export interface ModelServer extends AsyncDisposable {
  /** The base URL of the OpenAI-compatible wire, ending in `/v1`. */
  readonly url: string;
  readonly requests: ServedRequest[];
  close(): Promise<void>;
}

type Replies =
  | ReadonlyArray<string | ServedReply>
  | ((request: ServedRequest, index: number) => string | ServedReply);

/**
 * A real HTTP server on a free local port that speaks the OpenAI-compatible chat wire from a script: streamed and plain
 * answers, errors, stalls and cut connections.
 */
export async function startModelServer(replies: Replies): Promise<ModelServer> {
  const requests: ServedRequest[] = [];
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const served = { path: request.url ?? "", headers: request.headers, body: await readJson(request) };
    const index = requests.push(served) - 1;
    const next = typeof replies === "function" ? replies(served, index) : replies[index];
    const reply = typeof next === "string" ? { text: next } : (next ?? scriptEnded(replies.length, index));
    if (reply.status !== undefined) sendError(response, reply.status, reply);
    else if (served.body.stream) await sendEvents(response, reply, served.body.model ?? "", index);
    else sendJson(response, reply, served.body.model ?? "", index);
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = (): Promise<void> => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(() => resolve()));
  };
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/v1`, requests, close, [Symbol.asyncDispose]: close };
}

function scriptEnded(length: number, index: number): ServedReply {
  return { status: 400, error: `the script has ${length} replies and request number ${index + 1} came` };
}

async function readJson(request: IncomingMessage): Promise<ServedRequest["body"]> {
  let text = "";
  for await (const piece of request.setEncoding("utf8")) text += piece;
  return text === "" ? {} : (JSON.parse(text) as ServedRequest["body"]);
}

function sendError(response: ServerResponse, status: number, { error, headers }: ServedReply): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(
    JSON.stringify({ error: { message: error ?? `status ${status}`, type: "scripted", code: status } }),
  );
}

function sendJson(response: ServerResponse, reply: ServedReply, model: string, index: number): void {
  const message = {
    role: "assistant",
    content: [reply.text ?? ""].flat().join("") || null,
    ...(reply.reasoning !== undefined && { reasoning_content: reply.reasoning }),
    ...(reply.toolCalls && { tool_calls: reply.toolCalls.map((call, n) => toWireCall(call, n, index)) }),
  };
  response.writeHead(200, { "content-type": "application/json", ...reply.headers });
  const choices = [{ index: 0, message, finish_reason: finishReason(reply) }];
  response.end(
    JSON.stringify({ ...envelope(model, index, "chat.completion"), choices, usage: toWireUsage(reply) }),
  );
}

async function sendEvents(
  response: ServerResponse,
  reply: ServedReply,
  model: string,
  index: number,
): Promise<void> {
  let sent = 0;
  for (const event of toEvents(reply, model, index)) {
    if (sent === reply.cutAfter) return void response.destroy();
    if (sent === reply.stallAfter) return;
    if (reply.eventDelayMs !== undefined) await delay(reply.eventDelayMs);
    if (sent === 0) response.writeHead(200, { "content-type": "text/event-stream", ...reply.headers });
    // The next event may cut the connection, so this one has to be on its way first.
    await new Promise((resolve) => response.write(`data: ${event}\n\n`, resolve));
    sent++;
  }
  response.end();
}

function* toEvents(reply: ServedReply, model: string, index: number): Generator<string> {
  const chunk = (delta: object, finish_reason: string | null = null): string =>
    JSON.stringify({
      ...envelope(model, index, "chat.completion.chunk"),
      choices: [{ index: 0, delta, finish_reason }],
    });
  yield chunk({ role: "assistant" });
  if (reply.reasoning !== undefined) yield chunk({ reasoning_content: reply.reasoning });
  for (const content of [reply.text ?? []].flat()) yield chunk({ content });
  for (const [n, call] of (reply.toolCalls ?? []).entries()) {
    const wire = toWireCall(call, n, index);
    yield chunk({ tool_calls: [{ ...wire, function: { ...wire.function, arguments: "" } }] });
    yield chunk({ tool_calls: [{ index: n, function: { arguments: wire.function.arguments } }] });
  }
  yield chunk({}, finishReason(reply));
  yield JSON.stringify({
    ...envelope(model, index, "chat.completion.chunk"),
    choices: [],
    usage: toWireUsage(reply),
  });
  yield "[DONE]";
}

function envelope(model: string, index: number, object: string): object {
  return { id: `reply-${index + 1}`, object, created: 1_700_000_000, model };
}

function toWireCall(
  call: NonNullable<ServedReply["toolCalls"]>[number],
  n: number,
  index: number,
): { index: number; id: string; type: "function"; function: { name: string; arguments: string } } {
  const input = typeof call.input === "string" ? call.input : JSON.stringify(call.input ?? {});
  const id = call.toolCallId ?? `call-${index + 1}-${n + 1}`;
  return { index: n, id, type: "function", function: { name: call.toolName, arguments: input } };
}

function finishReason(reply: ServedReply): string {
  return reply.finishReason ?? (reply.toolCalls?.length ? "tool_calls" : "stop");
}

function toWireUsage({ usage = { inputTokens: 10, outputTokens: 5 } }: ServedReply): object {
  const { inputTokens, outputTokens } = usage;
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
  };
}
