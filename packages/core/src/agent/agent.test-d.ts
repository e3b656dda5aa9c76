import { type } from "arktype";
import { describe, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { RequestContext } from "../request-context/request-context.ts";
import { createTool } from "../tool/tool.ts";
import { Mastra } from "../mastra/mastra.ts";
import { Agent } from "./agent.ts";

const agent = new Agent({ id: "a", name: "A", instructions: "x", model: "openai/gpt-5.5" });

describe("types", () => {
  it("of a tool's input and result follow from its schemas", () => {
    const tool = createTool({
      id: "t",
      description: "",
      inputSchema: z.object({ city: z.string(), days: z.number().default(1) }),
      outputSchema: z.object({ forecast: z.array(z.string()) }),
      execute: async ({ context, requestContext }) => {
        expectTypeOf(context).toEqualTypeOf<{ city: string; days: number }>();
        expectTypeOf(requestContext).toEqualTypeOf<RequestContext>();
        return { forecast: [context.city] };
      },
    });
    expectTypeOf(tool.execute).returns.resolves.toEqualTypeOf<{ forecast: string[] }>();
    createTool({
      id: "a",
      description: "",
      inputSchema: type({ n: "number" }),
      execute: async ({ context }) => expectTypeOf(context.n).toEqualTypeOf<number>(),
    });
    const outputSchema = z.object({ n: z.number() });
    // @ts-expect-error The result does not fit the output schema.
    createTool({ id: "b", description: "", outputSchema, execute: async () => ({ n: "x" }) });
  });

  it("of the object follow from the schema that was asked for", async () => {
    const schema = z.object({ name: z.string() });
    expectTypeOf((await agent.generate("x", { output: schema })).object).toEqualTypeOf<{ name: string }>();
    expectTypeOf((await agent.generate("x", { experimental_output: schema })).object).toEqualTypeOf<{
      name: string;
    }>();
    expectTypeOf((await agent.generate("x", { structuredOutput: { schema } })).object).toEqualTypeOf<{
      name: string;
    }>();
    const list = await agent.stream("x", { output: z.array(schema) });
    expectTypeOf(list.object).resolves.toEqualTypeOf<{ name: string }[]>();
    for await (const element of list.elementStream) expectTypeOf(element).toEqualTypeOf<{ name: string }>();
    expectTypeOf((await agent.generate("x")).object).toEqualTypeOf<undefined>();
    expectTypeOf((await agent.generate("x")).text).toEqualTypeOf<string>();
  });

  it("of a request context follow from its record", () => {
    const context = new RequestContext<{ tenant: string; level: number }>();
    context.set("tenant", "acme");
    expectTypeOf(context.get("level")).toEqualTypeOf<number>();
    expectTypeOf(new RequestContext([["tenant", "acme"]]).get("tenant")).toBeAny();
    expectTypeOf(new RequestContext({ tenant: "acme" }).get("tenant")).toEqualTypeOf<string>();
    // @ts-expect-error A level is a number.
    context.set("level", "high");
  });

  it("of registered agents are kept", () => {
    const mastra = new Mastra({ agents: { agent } });
    expectTypeOf(mastra.getAgent("agent")).toEqualTypeOf<typeof agent>();
    // @ts-expect-error There is no such agent.
    mastra.getAgent("other");
  });
});
