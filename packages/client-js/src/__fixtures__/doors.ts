import type { Server } from "@selvedge/server";
import {
  type AnyRoute,
  type RouteName,
  ROUTES,
  routePath,
  type WireMessage,
} from "@selvedge/protocol/routes";
import type { DoorReader, ThreadDoor } from "@selvedge/testing/suites";
import type { MastraClient } from "../mastra-client.ts";
import { SseParser } from "../sse-parser.ts";
import { HERE, type Host } from "./served-agent.ts";

type Chunk = DoorReader["chunks"] extends AsyncIterable<infer Item> ? Item : never;

/** A thread accessed through the agent. */
export function directDoor({ agent, storage }: Host): ThreadDoor {
  return {
    sendMessage: async (contents, { id, ...options } = {}) => {
      const message = id === undefined ? contents : { contents, id };
      const { admitted, runId } = agent.sendMessage(message, { ...HERE, ...options });
      const { action, runId: taken = runId } = await admitted;
      return { action, runId: taken };
    },
    queueMessage: async (message) => {
      const { admitted, runId } = agent.queueMessage(message, HERE);
      const { action, runId: taken = runId } = await admitted;
      return { action, runId: taken };
    },
    sendSignal: async (signal, options) => await agent.sendSignal(signal, { ...HERE, ...options }).admitted,
    sendStateSignal: async (state) => await agent.sendStateSignal(state, HERE),
    subscribe: async (options = {}) => {
      const subscription = await agent.subscribeToThread({ ...HERE, ...options });
      return { chunks: subscription.stream, leave: () => subscription.unsubscribe() };
    },
    abort: async () => (await agent.subscribeToThread(HERE)).abort(),
    decide: (decision) => agent.sendToolApproval({ ...HERE, ...decision }),
    generate: async (message) =>
      agent.generate(message, { memory: { thread: HERE.threadId, resource: HERE.resourceId } }),
    history: async () => {
      const domain = await storage.getStore("memory");
      const { messages } = await domain!.listMessages({ threadId: HERE.threadId, perPage: false });
      return messages.map((message) => line(message as unknown as WireMessage));
    },
  };
}

/** A thread accessed through the request handler, without a socket. */
export function handlerDoor(server: Server): ThreadDoor {
  const request = async (name: RouteName, body?: object, query: object = {}): Promise<Response> => {
    const route: AnyRoute = ROUTES[name];
    const path = routePath(
      route.path,
      { agentId: "weaver", threadId: HERE.threadId },
      query as Record<string, unknown>,
    );
    const response = await server.fetch(
      new Request(`http://localhost${path}`, {
        method: route.method,
        headers: { "content-type": "application/json" },
        ...(body && { body: JSON.stringify({ ...HERE, ...body }) }),
      }),
    );
    if (!response.ok) throw await response.json();
    return response;
  };
  const json = async (name: RouteName, body?: object, query?: object): Promise<any> =>
    (await request(name, body, query)).json();
  return {
    sendMessage: async (contents, { id, ...options } = {}) =>
      result(
        await json("sendMessage", { message: id === undefined ? contents : { contents, id }, ...options }),
      ),
    queueMessage: async (message) => result(await json("queueMessage", { message })),
    sendSignal: (signal, options) => json("sendSignal", { signal, ...options }),
    sendStateSignal: (state) => json("sendStateSignal", { state }),
    subscribe: async (options = {}) => {
      const reader = (await request("subscribe", options)).body!.getReader();
      return { chunks: events(reader), leave: () => void reader.cancel() };
    },
    abort: async () => (await json("abortThread", {})).aborted,
    decide: (decision) => json("sendToolApproval", decision),
    generate: (message) => json("generate", { messages: message }),
    history: async () => {
      const { messages } = await json("listMessages", undefined, { resourceId: HERE.resourceId });
      return messages.map(line);
    },
  };
}

/** A thread accessed through the client. */
export function clientDoor(client: MastraClient): ThreadDoor {
  const agent = client.getAgent("weaver");
  return {
    sendMessage: async (contents, { id, ...options } = {}) =>
      result(
        await agent.sendMessage({
          message: { contents, ...(id !== undefined && { id }) },
          ...HERE,
          ...options,
        }),
      ),
    queueMessage: async (message) => result(await agent.queueMessage({ message, ...HERE })),
    sendSignal: (signal, options) => agent.sendSignal({ signal, ...HERE, ...options }),
    sendStateSignal: (state) => agent.sendStateSignal({ state, ...HERE }),
    subscribe: async (options = {}) => {
      const subscription = await agent.subscribeToThread({ ...HERE, ...options });
      return { chunks: subscription, leave: () => subscription.unsubscribe() };
    },
    abort: async () => (await agent.abortThread(HERE)).aborted,
    decide: (decision) => agent.sendToolApproval({ ...HERE, ...decision }),
    generate: (message) =>
      agent.generate(message, { memory: { thread: HERE.threadId, resource: HERE.resourceId } }),
    history: async () => (await client.getMemoryThread(HERE).listMessages()).messages.map(line),
  };
}

async function* events(reader: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator<Chunk> {
  const parser = new SseParser();
  const decoder = new TextDecoder();
  for (;;) {
    const { value } = await reader.read();
    if (!value) return;
    for (const event of parser.push(decoder.decode(value, { stream: true })))
      yield JSON.parse(event.data) as Chunk;
  }
}

function result({ runId, action }: { runId: string; action: string }): { runId: string; action: string } {
  return { runId, action };
}

function line({ role, content }: WireMessage): string {
  return `${role}: ${content.parts.map((part) => (part.type === "text" ? part.text : "")).join("")}`;
}
