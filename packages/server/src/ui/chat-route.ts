import { AgentError } from "@selvedge/core";
import type { AgentExecutionOptions } from "@selvedge/core/agent";
import type { ApiRoute } from "@selvedge/core/server";
import { checkId } from "@selvedge/core/storage";
import { isObject, showValue } from "@selvedge/protocol";
import { ROUTES, type RunOptions } from "@selvedge/protocol/routes";
import type { App } from "../app.ts";
import type { Principal } from "../caller.ts";
import { toCheck } from "../check-shape.ts";
import { findAgent } from "../find-agent.ts";
import { admitMessages } from "../handlers/agent-handlers.ts";
import { readBody } from "../read-body.ts";
import { toRunOptions } from "../run-options.ts";
import { handleChatStream } from "./handle-chat-stream.ts";
import type { UiStreamOptions } from "./to-ui-stream.ts";
import { UI_HEADERS, uiFrames } from "./ui-frames.ts";

export interface ChatRouteOptions extends Omit<UiStreamOptions, "lastMessageId" | "show"> {
  path: string;
  /** The agent of this route. Without it, the path must have `:agentId`. */
  agent?: string | undefined;
  /** Options of every run. Callers cannot change them. */
  defaultOptions?: AgentExecutionOptions | undefined;
}

/** What a handler uses of Hono's context. */
interface RouteContext {
  readonly req: { readonly raw: Request; param(name: string): string | undefined };
  get(name: "app"): App;
  get(name: "caller"): Principal;
}

type ChatBody = RunOptions & {
  messages?: unknown;
  memory?: unknown;
  resumeData?: unknown;
  runId?: unknown;
};

const {
  messages: _messages,
  memory: _memory,
  ...FIELDS
} = ROUTES.stream.body["properties"] as Record<string, object>;
/** A chat sends more fields, such as `id` and `trigger`; they are not read. */
const CHECK = toCheck("body", { type: "object", properties: FIELDS });

/**
 * A route for `useChat` of the AI SDK: `new Mastra({ server: { apiRoutes: [chatRoute({ path: "/chat", agent: "helper" })] } })`.
 * Its body has `messages` and, for a chat that is stored, `memory: { thread, resource }`.
 */
export function chatRoute(options: ChatRouteOptions): ApiRoute {
  const { path, agent } = options;
  if (typeof path !== "string" || !path.startsWith("/"))
    throw new AgentError("invalid-argument", `path must start with "/", got ${showValue(path)}.`);
  if (agent === undefined && !/\/:agentId(?:\/|$)/.test(path))
    throw new AgentError(
      "invalid-argument",
      `The path "${path}" does not say which agent to ask. Add ":agentId" to it, or pass agent.`,
    );
  return { path, method: "POST", handler: (context: RouteContext) => respond(context, options) };
}

async function respond(context: RouteContext, options: ChatRouteOptions): Promise<Response> {
  const { path: _, agent: fixed, defaultOptions, ...ui } = options;
  const [app, caller] = [context.get("app"), context.get("caller")];
  const request = context.req.raw;
  const body = (await readBody(request, app.limits, app.system)) as ChatBody;
  CHECK(body);
  const agent = findAgent(app.mastra, fixed ?? checkId("agentId", context.req.param("agentId")));
  const messages = (await admitMessages({ app, caller }, checkMessages(body.messages))) as unknown[];
  const { memory: __, resumeData, runId, ...given } = body;
  const memory = memoryOf(body.memory, caller);
  const asked = await toRunOptions(given, { app, caller }, agent as never);
  app.checkRoom(caller);
  await app.checkRuns(caller, async () => app.mastra.getStorage(), undefined);
  if (resumeData !== undefined) await checkOwner(agent, runId, memory);
  const stream = await handleChatStream({
    ...ui,
    mastra: app.mastra,
    agentId: agent.id,
    params: {
      ...asked,
      ...defaultOptions,
      messages,
      ...(memory && { memory: { ...defaultOptions?.memory, ...memory } }),
      ...(resumeData !== undefined && { resumeData, runId: runId as string }),
    },
    show: app.shownTo(caller),
  });
  const response = new Response(stream.pipeThrough(uiFrames()), { headers: UI_HEADERS });
  return app.relay({ caller, request }, response);
}

function checkMessages(messages: unknown): unknown[] {
  if (Array.isArray(messages) && messages.every(isObject)) return messages;
  throw new AgentError("invalid-argument", "body.messages must be an array of UI messages.");
}

/** An authenticated caller reaches only its own threads. */
function memoryOf(
  given: unknown,
  { resourceId }: Principal,
): { thread: string; resource: string } | undefined {
  if (given === undefined) return undefined;
  if (!isObject(given)) throw new AgentError("invalid-argument", "body.memory must be { thread, resource }.");
  const { thread, resource } = given as { thread?: unknown; resource?: unknown };
  return {
    thread: checkId("memory.thread", isObject(thread) ? (thread as { id?: unknown }).id : thread),
    resource: resourceId ?? checkId("memory.resource", resource),
  };
}

async function checkOwner(
  agent: ReturnType<typeof findAgent>,
  runId: unknown,
  memory: ReturnType<typeof memoryOf>,
): Promise<void> {
  if (!memory) throw new AgentError("invalid-argument", "resumeData needs memory: { thread, resource }.");
  const { runs } = await agent.listSuspendedRuns({ threadId: memory.thread, resourceId: memory.resource });
  if (!runs.some((run) => run.runId === runId))
    throw new AgentError("not-found", `No run ${showValue(runId)} of this chat is waiting.`);
}
