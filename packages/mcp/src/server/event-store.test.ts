import { createTool } from "@selvedge/core/tools";
import { Client, type JSONRPCMessage, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, it } from "vitest";
import { scene, textOf } from "../__fixtures__/scene.ts";
import type { EventStore } from "../index.ts";

const { hosted, open } = scene();

class Events implements EventStore {
  readonly #events: { stream: string; message: JSONRPCMessage }[] = [];

  async storeEvent(stream: string, message: JSONRPCMessage): Promise<string> {
    return String(this.#events.push({ stream, message }) - 1);
  }

  async getStreamIdForEventId(id: string): Promise<string | undefined> {
    return this.#events[Number(id)]?.stream;
  }

  async replayEventsAfter(
    last: string,
    { send }: { send: (id: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const { stream } = this.#events[Number(last)]!;
    for (const [index, event] of this.#events.entries())
      if (index > Number(last) && event.stream === stream && Object.keys(event.message).length > 0)
        await send(String(index), event.message);
    return stream;
  }
}

it("lets a client pick up an answer whose stream broke, from the event store it was given", async () => {
  let runs = 0;
  const { promise: mayGoOn, resolve: goOn } = Promise.withResolvers<void>();
  const slow = createTool({
    id: "slow",
    description: "",
    execute: async (_, { writer }) => {
      runs++;
      await writer.write("begun");
      await mayGoOn;
      return "the answer";
    },
  });
  const { url } = await hosted({ tools: { slow } }, { eventStore: new Events() });
  const { promise: begun, resolve: hasBegun } = Promise.withResolvers<void>();
  const broken = new AbortController();
  let resumed = 0;
  const transport = new StreamableHTTPClientTransport(url, {
    reconnectionOptions: {
      initialReconnectionDelay: 10,
      maxReconnectionDelay: 50,
      reconnectionDelayGrowFactor: 1,
      maxRetries: 5,
    },
    // The connection that carries the call breaks in the middle.
    fetch: async (input, init) => {
      const isCall = typeof init?.body === "string" && init.body.includes("tools/call");
      if (new Headers(init?.headers).has("last-event-id")) resumed++;
      const response = await fetch(input, init);
      if (!isCall || !response.body) return response;
      const reader = response.body.getReader();
      const body = new ReadableStream<Uint8Array>({
        pull: async (controller) => {
          const { promise, reject } = Promise.withResolvers<never>();
          broken.signal.addEventListener("abort", () => reject(new Error("The line broke.")));
          try {
            const { done, value } = await Promise.race([reader.read(), promise]);
            if (done) controller.close();
            else controller.enqueue(value);
          } catch (error) {
            await reader.cancel();
            controller.error(error);
          }
        },
      });
      return new Response(body, { status: response.status, headers: response.headers });
    },
  });
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport);
  open(() => client.close());
  const answer = client.callTool({ name: "slow", arguments: {} }, { onprogress: () => hasBegun() });
  await begun;
  broken.abort();
  goOn();
  expect(textOf(await answer)).toBe("the answer");
  expect(resumed).toBeGreaterThan(0);
  expect(runs).toBe(1);
});
