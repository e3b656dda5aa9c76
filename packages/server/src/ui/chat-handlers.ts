import { AgentError } from "@selvedge/core";
import { readThreadOverview } from "@selvedge/core/threads";
import type { FilePart, SignalContents, TextPart } from "@selvedge/protocol/routes";
import type { AnyAgent } from "../app.ts";
import { admitContents } from "../admit-contents.ts";
import { type Call, type Handlers, ownerOf, type Tagged } from "../handler.ts";
import { admitMessages } from "../handlers/agent-handlers.ts";
import { followRun, type RunReader, startDirectly } from "../handlers/run-answers.ts";
import { toRunOptions } from "../run-options.ts";
import { dataFrame } from "../sse/frames.ts";
import { neutraliseContents, neutraliseReasons } from "../untrusted-text.ts";
import { UiChunks } from "./ui-chunks.ts";
import { dropAnswerTo } from "./drop-answer.ts";

type ChatCall = Call<"chat">;

interface UiMessage {
  id?: string;
  role?: string;
  parts?: UiPart[];
}

interface UiPart {
  type?: string;
  text?: string;
  url?: string;
  mediaType?: string;
  filename?: string;
  state?: string;
  toolCallId?: string;
  toolName?: string;
  output?: unknown;
  errorText?: string;
  approval?: { approved?: boolean; reason?: string };
}

const HEADERS = { "x-vercel-ai-ui-message-stream": "v1" };
const DONE = "data: [DONE]\n\n";
const PART_TEXTS: readonly (keyof UiPart)[] = [
  "type",
  "text",
  "url",
  "mediaType",
  "filename",
  "state",
  "toolCallId",
  "toolName",
  "errorText",
];

/** The endpoint for the AI SDK's `useChat`. A chat is a thread; the history the browser sends is ignored. */
export const CHAT_HANDLERS: Handlers<Tagged<"ai-sdk">> = {
  chat: async (call) => {
    const agent = call.app.agent(call.params.agentId);
    const last = toUiMessage(call.body.messages.at(-1));
    if (!agent.hasMemory) return chatWithoutMemory(call, agent);
    if (last.role === "assistant") return goOn(call, agent, last);
    if (last.role === "user") return send(call, agent, last);
    throw new AgentError(
      "invalid-argument",
      `body.messages: The last message must be from a user or an assistant.`,
    );
  },
  resumeChat: async (call) => {
    const { app, params } = call;
    const agent = app.agent(params.agentId);
    const overview = await readThreadOverview(await agent.getThreadStorage(), params.threadId);
    if (overview?.activeRunId === undefined || overview.runState !== "running")
      return new Response(null, { status: 204 });
    const run = { threadId: params.threadId, resourceId: ownerOf(call), runId: overview.activeRunId };
    const reader = await followRun(agent, run);
    return uiResponse(call, reader, new UiChunks());
  },
};

/** Only the fields read here are checked. */
function toUiMessage(message: Record<string, unknown> | undefined): UiMessage {
  if (!message) throw new AgentError("invalid-argument", "body.messages: A chat needs a message.");
  const { id, parts = [] } = message;
  const isPart = (part: unknown) =>
    typeof part === "object" && part !== null && PART_TEXTS.every((name) => isText((part as never)[name]));
  if (!isText(id) || !Array.isArray(parts) || !parts.every(isPart))
    throw new AgentError(
      "invalid-argument",
      "body.messages: The last message is not a UI message: { id, role, parts }.",
    );
  return message;
}

function isText(value: unknown): boolean {
  return value === undefined || typeof value === "string";
}

async function send(call: ChatCall, agent: AnyAgent, last: UiMessage): Promise<Response> {
  const { app, body, caller } = call;
  const address = { threadId: body.id, resourceId: ownerOf(call) };
  const contents = await admitContents(call, toContents(last.parts ?? []));
  const again = body.trigger === "regenerate-message" && last.id !== undefined;
  if (again) await dropAnswerTo(app, agent, { ...address, messageId: last.id as string });
  const sent = agent.sendMessage(
    {
      contents: caller.has("signals") ? contents : neutraliseContents(contents),
      ...(last.id !== undefined && last.id !== "" && { id: last.id }),
    },
    {
      ...address,
      ifIdle: { streamOptions: await toRunOptions({}, call, agent) },
      // A browser that retries after a broken connection sends the same request.
      ...(last.id && !again && { idempotencyKey: last.id }),
    },
  );
  const { runId, action } = await sent.admitted;
  const reader = await followRun(agent, { ...address, runId: runId as string });
  return uiResponse(call, reader, new UiChunks(action === "deliver" ? { from: sent.signal.id } : {}));
}

/** The browser sent tool outcomes: approvals, or results of tools it ran itself. */
async function goOn(call: ChatCall, agent: AnyAgent, last: UiMessage): Promise<Response> {
  const { body, caller } = call;
  const address = { threadId: body.id, resourceId: ownerOf(call) };
  const overview = await readThreadOverview(await agent.getThreadStorage(), body.id);
  const after = overview?.lastSeq ?? 0;
  let runId: string | undefined;
  for (const { toolCallId, approval } of (last.parts ?? []).filter(
    ({ state }) => state === "approval-responded",
  )) {
    const waits = overview?.waiting.some((waiting) => waiting.toolCallId === toolCallId);
    if (!waits || typeof approval?.approved !== "boolean" || toolCallId === undefined) continue;
    if (!isText(approval.reason))
      throw new AgentError("invalid-argument", "body.messages: approval.reason must be a string.");
    const { approved, reason } = approval;
    const why = approved || reason === undefined ? undefined : { reason };
    const declineContext = why && (caller.has("signals") ? why : neutraliseReasons(why));
    const decision = { toolCallId, approved, ...(declineContext && { declineContext }) };
    ({ runId } = await agent.sendToolApproval({ ...address, ...decision }));
  }
  if (runId === undefined) {
    const results = (last.parts ?? []).flatMap(toResult);
    if (results.length === 0)
      throw new AgentError(
        "invalid-argument",
        "body.messages: No tool call of this chat is waiting for an answer.",
      );
    const messages = await admitMessages(call, [{ role: "tool", content: results }]);
    const streamOptions = await toRunOptions({}, call, agent);
    ({ runId } = await agent.sendToolApproval({ ...address, approved: true, messages, streamOptions }));
  }
  const reader = await followRun(agent, { ...address, runId }, after);
  return uiResponse(call, reader, new UiChunks({ messageId: last.id }));
}

async function chatWithoutMemory(call: ChatCall, agent: AnyAgent): Promise<Response> {
  const { app, body } = call;
  const messages = await admitMessages(call, body.messages);
  const reader = await startDirectly(agent, messages, await toRunOptions({}, call, agent), ownerOf(call));
  app.keepRun(reader.output.runId, ownerOf(call));
  app.countRun(ownerOf(call), reader.output);
  return uiResponse(call, reader, new UiChunks());
}

function uiResponse(
  call: Pick<Call, "app" | "caller" | "request">,
  reader: RunReader,
  ui: UiChunks,
): Response {
  let done = false;
  const show = call.app.shownTo(call.caller);
  return call.app.stream(
    call,
    {
      next: async () => {
        for (;;) {
          const chunks = await reader.next();
          const text = chunks
            .flatMap((chunk) => ui.from(show(chunk)))
            .map(dataFrame)
            .join("");
          if (text !== "") return text;
          if (chunks.length > 0) continue;
          if (done) return undefined;
          done = true;
          return DONE;
        }
      },
      leave: () => reader.leave(),
      farewell: (error) => {
        const errorText = AgentError.is(error)
          ? error.message
          : "The client stopped reading, so the stream was closed.";
        return dataFrame({ type: "error", errorText }) + DONE;
      },
    },
    "",
    HEADERS,
  );
}

function toContents(parts: readonly UiPart[]): SignalContents {
  const contents = parts.flatMap((part): (TextPart | FilePart)[] => {
    if (part.type === "text" && typeof part.text === "string") return [{ type: "text", text: part.text }];
    if (part.type !== "file" || typeof part.url !== "string") return [];
    const { url: data, mediaType = "application/octet-stream", filename } = part;
    return [{ type: "file", data, mediaType, ...(filename !== undefined && { filename }) }];
  });
  if (contents.length === 0)
    throw new AgentError("invalid-argument", "body.messages: The last message is empty.");
  const [only] = contents;
  return contents.length === 1 && only?.type === "text" ? only.text : contents;
}

/** A tool part of a UI message with an outcome, as a result for the model. */
function toResult(part: UiPart): object[] {
  const { toolCallId, state } = part;
  if (toolCallId === undefined || (state !== "output-available" && state !== "output-error")) return [];
  const toolName = part.toolName ?? (part.type ?? "").replace(/^tool-/, "");
  const output =
    state === "output-available"
      ? { type: "json", value: part.output ?? null }
      : { type: "error-text", value: part.errorText ?? "" };
  return [{ type: "tool-result", toolCallId, toolName, output }];
}
