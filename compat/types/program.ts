/* One program that must compile against the reference and against ours: what projects write at the level of types. */
import { Agent } from "@mastra/core/agent";
import { Mastra } from "@mastra/core/mastra";
import type {
  ProcessInputArgs,
  ProcessInputResult,
  ProcessInputStepArgs,
  ProcessInputStepResult,
  Processor,
  ProcessOutputResultArgs,
} from "@mastra/core/processors";
import { registerApiRoute } from "@mastra/core/server";
import { SignalProvider, TaskSignalProvider, type SignalSubscription } from "@mastra/core/signals";
import { createTool } from "@mastra/core/tools";
import { LibSQLStore, LibSQLVector } from "@mastra/libsql";
import { PinoLogger } from "@mastra/loggers";
import { MCPClient, MCPServer, type MastraMCPServerDefinition } from "@mastra/mcp";
import { Memory } from "@mastra/memory";
import { createVectorQueryTool, MDocument } from "@mastra/rag";
import { z } from "zod";

const weather = createTool({
  id: "weather",
  description: "The weather of a city.",
  inputSchema: z.object({ city: z.string(), days: z.number().default(1) }),
  outputSchema: z.object({ sky: z.string() }),
  execute: async (inputData, context) => {
    const agents: unknown = context?.mastra?.getAgent("helper");
    return { sky: `${inputData.city} ${inputData.days} ${typeof agents}` };
  },
});

class Guard implements Processor<"guard", { found: string[] }> {
  readonly id = "guard" as const;
  readonly name = "Guard";
  readonly description = "Refuses addresses.";

  async processInput({
    messages,
    abort,
  }: ProcessInputArgs<{ found: string[] }>): Promise<ProcessInputResult> {
    if (JSON.stringify(messages).includes("@")) abort("no addresses", { metadata: { found: ["@"] } });
    return messages;
  }

  async processInputStep({
    stepNumber,
    messageList,
  }: ProcessInputStepArgs): Promise<ProcessInputStepResult | undefined> {
    if (stepNumber === 0) return;
    messageList?.addSystem("Wrap up.");
    return { model: "openai/gpt-5-mini", messageList };
  }

  async processOutputResult({ messages }: ProcessOutputResultArgs) {
    for (const message of messages)
      for (const part of message.content.parts)
        if (part.type === "tool-invocation") console.log(part.toolInvocation.args.city);
    return messages;
  }
}

class Builds extends SignalProvider<"builds"> {
  readonly id = "builds";
  readonly pollInterval = 30_000;

  async poll(subscriptions: SignalSubscription[]): Promise<void> {
    for (const one of subscriptions)
      await this.notify(
        { source: "ci", kind: "build", priority: "high", summary: `${one.externalResourceId} failed` },
        { threadId: one.threadId, resourceId: one.resourceId },
      );
  }
}

const storage = new LibSQLStore({ id: "store", url: ":memory:" });
const vectors = new LibSQLVector({ id: "vectors", url: ":memory:" });
const definition: MastraMCPServerDefinition = { url: new URL("http://127.0.0.1:1/mcp") };
const mcp = new MCPClient({ id: "types", servers: { local: definition } });

export const helper = new Agent({
  id: "helper",
  name: "Helper",
  instructions: ({ requestContext }) => `For ${String(requestContext.get("user"))}.`,
  model: "openai/gpt-5-mini",
  tools: { weather },
  memory: new Memory({
    storage,
    vector: false,
    options: { lastMessages: 10, workingMemory: { enabled: true, template: "# Facts" } },
  }),
  inputProcessors: [new Guard()],
  outputProcessors: [new Guard()],
  signals: [new Builds(), new TaskSignalProvider()],
});

export const server = new MCPServer({ id: "tools", name: "Tools", version: "1.0.0", tools: { weather } });

export const mastra = new Mastra({
  agents: { helper },
  storage,
  vectors: { vectors },
  logger: new PinoLogger({ name: "app", level: "info" }),
  server: {
    apiRoutes: [
      registerApiRoute("/ping", {
        method: "GET",
        handler: async (c) => c.json({ agent: c.get("mastra").getAgent("helper").id }),
      }),
    ],
  },
});

export async function main(): Promise<string[]> {
  const agent = mastra.getAgent("helper");
  const result = await agent.generate("Rome?", {
    memory: { thread: "t", resource: "r" },
    maxSteps: 3,
    structuredOutput: { schema: z.object({ sky: z.string() }) },
  });
  const sky: string = result.object.sky;
  const stream = await agent.stream("Rome?", { toolsets: await mcp.listToolsets() });
  for await (const chunk of stream.fullStream)
    if (chunk.type === "text-delta") console.log(chunk.payload.text);
  const text: string = await stream.text;
  const chunks = await MDocument.fromMarkdown("# A").chunk({ strategy: "markdown" });
  createVectorQueryTool({
    vectorStoreName: "vectors",
    indexName: "docs",
    model: {} as Parameters<typeof createVectorQueryTool>[0]["model"],
  });
  return [sky, text, ...chunks.map((chunk) => chunk.text)];
}
