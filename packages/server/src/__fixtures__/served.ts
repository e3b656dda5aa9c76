import { Agent, createTool, type Logger, Mastra, silentLogger } from "@selvedge/core";
import { AgentController } from "@selvedge/core/agent-controller";
import type { AgentConfig } from "@selvedge/core/agent";
import { InMemoryStorage, type Storage } from "@selvedge/core/storage";
import { InMemoryVector } from "@selvedge/core/vector";
import { Memory } from "@selvedge/memory";
import { MCPServer } from "@selvedge/mcp";
import { type Script, type ScriptedModel, scriptedModel } from "@selvedge/testing";
import { ROUTES, type RouteCalls, type RouteName, routePath } from "@selvedge/protocol/routes";
import { z } from "zod";
import type { Authorize } from "../caller.ts";
import { createServer, type Server } from "../server.ts";
import { refundWorkflow } from "./refund-workflow.ts";
import type { ServerOptions } from "../server-options.ts";

const ADD = createTool({
  id: "add",
  description: "adds",
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: async ({ context }) => ({ sum: context.a + context.b }),
});

const PAY = createTool({
  id: "pay",
  description: "pays",
  inputSchema: z.object({ amount: z.number() }),
  requireApproval: true,
  execute: async ({ context }) => ({ paid: context.amount }),
});

export interface Served {
  server: Server;
  mastra: Mastra;
  agent: Agent;
  storage: Storage;
  model: ScriptedModel;
  /** Sends a request as a route describes it. */
  call<Name extends RouteName>(name: Name, input?: Input<Name>, as?: string): Promise<Response>;
  /** The same, returning the JSON of a successful response. */
  json<Name extends RouteName>(name: Name, input?: Input<Name>, as?: string): Promise<Answer<Name>>;
}

export type Input<Name extends RouteName> = Partial<Pick<RouteCalls[Name] & Parts, keyof Parts>> & {
  headers?: Record<string, string>;
  signal?: AbortSignal;
};
type Parts = { params?: object; query?: object; body?: object };
type Answer<Name extends RouteName> = RouteCalls[Name] extends { response: infer Type } ? Type : never;

/** Trusts a header for the resource and its grants. */
export const byHeader: Authorize = (request) => {
  const resourceId = request.headers.get("x-user");
  if (resourceId === null) return null;
  const grants = (request.headers.get("x-grants") ?? "").split(",").filter((grant) => grant !== "");
  return { resourceId, grants: grants as never };
};

export function served(
  script: Script,
  options: Partial<ServerOptions> & {
    storage?: Storage;
    agent?: Partial<AgentConfig>;
    tools?: AgentConfig["tools"];
    logger?: Logger;
  } = {},
): Served {
  const {
    storage = new InMemoryStorage(),
    agent: config,
    tools = { add: ADD, pay: PAY },
    ...others
  } = options;
  const { logger = silentLogger, ...rest } = others;
  const model = scriptedModel(script);
  const refund = refundWorkflow();
  const memory = new Memory({
    options: { lastMessages: 20, workingMemory: { enabled: true, scope: "thread" } },
  });
  const agent = new Agent({
    id: "helper",
    name: "Helper",
    instructions: "A secret instruction.",
    model,
    memory,
    tools,
    ...config,
  });
  const bare = new Agent({ id: "bare", name: "Bare", instructions: "", model, tools });
  const behind = new Agent({ id: "behind", name: "Behind", instructions: "", model, memory, tools });
  const controller = new AgentController({
    id: "coder",
    agent: behind,
    modes: [{ id: "plan", transitionsTo: "build" }, { id: "build" }],
    defaultModeId: "build",
  });
  const mastra = new Mastra({
    agents: { helper: agent, bare },
    agentControllers: { coder: controller },
    workflows: { refund },
    tools: { add: ADD, pay: PAY },
    storage,
    vectors: { docs: new InMemoryVector() },
    mcpServers: {
      tools: new MCPServer({
        id: "tools",
        name: "tools",
        version: "1.0.0",
        tools: { add: ADD, pay: PAY },
        workflows: { refund },
      }),
    },
    logger,
  });
  const server = createServer({ mastra, ...rest });
  const call: Served["call"] = (name, input = {}, as) => server.fetch(toRequest(name, input, as));
  return {
    server,
    mastra,
    agent,
    storage,
    model,
    call,
    json: async (name, input, as) => {
      const response = await call(name, input, as);
      const body = (await response.json()) as never;
      if (!response.ok) throw new Error(`${response.status} ${JSON.stringify(body)}`);
      return body;
    },
  };
}

export function toRequest<Name extends RouteName>(
  name: Name,
  input: Input<Name> = {} as Input<Name>,
  as?: string,
  base = "http://localhost",
): Request {
  const { method, path, kind } = ROUTES[name];
  const { params, query, body, headers, signal } = input as Parts & Input<Name>;
  const [user, grants] = as?.split("+") ?? [];
  return new Request(
    base + routePath(path, params as Record<string, string>, query as Record<string, unknown>),
    {
      method: method === "ALL" ? "POST" : method,
      ...(body && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
      headers: {
        ...(kind === "sse" && { accept: "text/event-stream" }),
        ...(body && { "content-type": "application/json" }),
        ...(user !== undefined && { "x-user": user }),
        ...(grants !== undefined && { "x-grants": grants }),
        ...headers,
      },
    },
  );
}

export interface Frame {
  id?: string;
  event?: string;
  data: unknown;
}

/** The frames of a stream as they arrive, without comments. */
export async function* frames(response: Response): AsyncGenerator<Frame> {
  let text = "";
  for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
    text += piece;
    for (;;) {
      const end = text.indexOf("\n\n");
      if (end < 0) break;
      const frame = parseFrame(text.slice(0, end));
      text = text.slice(end + 2);
      if (frame) yield frame;
    }
  }
}

function parseFrame(text: string): Frame | undefined {
  const fields = new Map<string, string>();
  for (const line of text.split("\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 1).trimStart());
  }
  const data = fields.get("data");
  if (data === undefined) return undefined;
  const id = fields.get("id");
  const event = fields.get("event");
  return {
    ...(id !== undefined && { id }),
    ...(event !== undefined && { event }),
    data: data === "[DONE]" ? data : (JSON.parse(data) as unknown),
  };
}

/** Reads until a chunk of a type arrives; returns everything read. */
export async function readUntil(stream: AsyncGenerator<Frame>, type: string): Promise<Frame[]> {
  const read: Frame[] = [];
  for (;;) {
    const { done, value } = await stream.next();
    if (done)
      throw new Error(
        `The stream ended without ${type}: ${JSON.stringify(read.map(({ data }) => (data as { type?: string }).type))}`,
      );
    read.push(value);
    if ((value.data as { type?: string }).type === type) return read;
  }
}

export function gate(): { opened: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}
