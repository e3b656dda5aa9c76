import type { NumberedChunk, WireThread } from "@selvedge/protocol/routes";
import { describe, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { type Connection, createTool, type MastraClient } from "./index.ts";

declare const client: MastraClient;

describe("call", () => {
  it("takes what the route takes and gives what it gives", () => {
    expectTypeOf(
      client.call("getThread", { params: { threadId: "t" } }),
    ).resolves.toEqualTypeOf<WireThread>();
    expectTypeOf(client.call("health")).resolves.toEqualTypeOf<{ status: "ok" }>();
    expectTypeOf(
      client.call("subscribe", { params: { agentId: "a" }, body: { threadId: "t" } }),
    ).resolves.toEqualTypeOf<Connection<NumberedChunk>>();
    expectTypeOf(client.call("explorer")).resolves.toEqualTypeOf<Response>();
  });

  it("refuses what the route does not take", () => {
    // @ts-expect-error the thread is missing
    void client.call("getThread");
    // @ts-expect-error the message is missing
    void client.call("sendMessage", { params: { agentId: "a" }, body: { threadId: "t" } });
    // @ts-expect-error no such route
    void client.call("getThreads");
  });
});

describe("createTool", () => {
  it("types the input by the schema", () => {
    createTool({
      id: "t",
      description: "",
      inputSchema: z.object({ colour: z.string() }),
      execute: ({ context }) => expectTypeOf(context).toEqualTypeOf<{ colour: string }>(),
    });
    createTool({
      id: "t",
      description: "",
      inputSchema: z.object({ colour: z.string() }),
      execute: ({ colour }, { threadId }) => {
        expectTypeOf(colour).toEqualTypeOf<string>();
        expectTypeOf(threadId).toEqualTypeOf<string | undefined>();
      },
    });
  });
});

describe("subscribeToThread", () => {
  it("gives numbered chunks", async () => {
    const subscription = await client.getAgent("a").subscribeToThread({ threadId: "t" });
    for await (const chunk of subscription) expectTypeOf(chunk).toEqualTypeOf<NumberedChunk>();
  });
});
