import type { JSONSchema7 } from "@ai-sdk/provider";
import { describe, expectTypeOf, it } from "vitest";
import { z } from "zod";
import type { RequestContext } from "../request-context/request-context.ts";
import { createTool, type ToolWriter } from "./tool.ts";

const base = { id: "t", description: "" };

class Money {
  readonly cents: number = 0;
  euros(): number {
    return this.cents / 100;
  }
}

describe("types of execute", () => {
  it("follow from the schema in both forms", () => {
    const inputSchema = z.object({ city: z.string(), days: z.number().default(1) });
    createTool({
      ...base,
      inputSchema,
      execute: async ({ city, days }, { requestContext, abortSignal, agent, mcp, writer }) => {
        expectTypeOf(city).toEqualTypeOf<string>();
        expectTypeOf(days).toEqualTypeOf<number>();
        expectTypeOf(requestContext).toEqualTypeOf<RequestContext>();
        expectTypeOf(abortSignal).toEqualTypeOf<AbortSignal>();
        expectTypeOf(agent?.agentId).toEqualTypeOf<string | undefined>();
        expectTypeOf(mcp?.elicitation.sendRequest).not.toBeAny();
        expectTypeOf(writer).toEqualTypeOf<ToolWriter>();
      },
    });
    createTool({
      ...base,
      inputSchema,
      execute: async ({ context, runtimeContext, threadId }, { toolCallId }) => {
        expectTypeOf(context).toEqualTypeOf<{ city: string; days: number }>();
        expectTypeOf(runtimeContext).toEqualTypeOf<RequestContext>();
        expectTypeOf(threadId).toEqualTypeOf<string | undefined>();
        expectTypeOf(toolCallId).toEqualTypeOf<string>();
      },
    });
    createTool({
      ...base,
      inputSchema,
      execute: async (inputData, context) => {
        expectTypeOf(inputData.city).toEqualTypeOf<string>();
        expectTypeOf(context.resourceId).toEqualTypeOf<string | undefined>();
        // @ts-expect-error The input has no such field.
        void inputData.town;
      },
    });
  });

  it("give fields with reserved names only in `context`", () => {
    createTool({
      ...base,
      inputSchema: z.object({ context: z.string(), threadId: z.number(), query: z.string() }),
      execute: async ({ context, threadId, query }) => {
        expectTypeOf(context).toEqualTypeOf<{ context: string; threadId: number; query: string }>();
        expectTypeOf(threadId).toEqualTypeOf<string | undefined>();
        expectTypeOf(query).toEqualTypeOf<string>();
      },
    });
  });

  it("know unions, lists, instances and plain values", () => {
    createTool({
      ...base,
      inputSchema: z.discriminatedUnion("kind", [
        z.object({ kind: z.literal("a"), a: z.string() }),
        z.object({ kind: z.literal("b"), b: z.number() }),
      ]),
      execute: async (input) => {
        if (input.kind === "a") expectTypeOf(input.a).toEqualTypeOf<string>();
        else expectTypeOf(input.b).toEqualTypeOf<number>();
        expectTypeOf(input.runId).toEqualTypeOf<string | undefined>();
      },
    });
    createTool({
      ...base,
      inputSchema: z.object({}).transform(() => new Money()),
      execute: async (money) => expectTypeOf(money.euros()).toEqualTypeOf<number>(),
    });
    createTool({
      ...base,
      inputSchema: z.object({ list: z.array(z.string()) }).transform(({ list }) => list),
      execute: async (list) => expectTypeOf(list[0]).toEqualTypeOf<string | undefined>(),
    });
    createTool({
      ...base,
      inputSchema: z.object({ text: z.string() }).transform(({ text }) => text),
      execute: async (input) => {
        expectTypeOf(input.context).toEqualTypeOf<string>();
        // @ts-expect-error A text is only in `context`.
        void input.length;
      },
    });
  });

  it("leave input open where no schema types it", () => {
    createTool({
      ...base,
      execute: async ({ city, context, requestContext }) => {
        expectTypeOf(city).toBeAny();
        expectTypeOf(context).toBeAny();
        expectTypeOf(requestContext).toEqualTypeOf<RequestContext>();
      },
    });
    const inputSchema: JSONSchema7 = { type: "object" };
    createTool({ ...base, inputSchema: { ...inputSchema }, execute: async ({ city }) => void city });
  });
});

describe("types of a direct call", () => {
  const tool = createTool({
    ...base,
    inputSchema: z.object({ city: z.string() }),
    outputSchema: z.object({ degrees: z.number() }),
    execute: async () => ({ degrees: 1 }),
  });

  it("accept the input itself, or the input as `context`", () => {
    expectTypeOf(tool.execute({ city: "Oslo" })).resolves.toEqualTypeOf<{ degrees: number }>();
    void tool.execute({ context: { city: "Oslo" } }, { toolCallId: "c" });
    void tool.execute();
    // @ts-expect-error A city is a text.
    void tool.execute({ city: 5 });
    // @ts-expect-error A city is a text.
    void tool.execute({ context: { city: 5 } });
    // @ts-expect-error The input has no such field.
    void tool.execute({ town: "Oslo" });
  });
});
