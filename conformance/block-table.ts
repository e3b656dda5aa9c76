import assert from "node:assert/strict";
import { Agent } from "@selvedge/core/agent";
import { InMemoryStore } from "@selvedge/core/storage";
import { Memory } from "@selvedge/memory";
import { scriptedModel } from "@selvedge/testing";
import { type BlockSetUp, running, type Topic } from "./block-set-up.ts";
import { assertWrittenIn, printer, systemMessagesOf } from "./fixtures.ts";
import { clientBlocks } from "./client-blocks.ts";
import { notificationBlocks } from "./notification-blocks.ts";
import { controllerBlocks } from "./controller-blocks.ts";
import { mcpBlocks } from "./mcp-blocks.ts";
import { serverBlocks } from "./server-blocks.ts";
import { ragBlocks } from "./rag-blocks.ts";
import { threadBlocks } from "./thread-blocks.ts";

/** Modules of later work, which blocks may wait for. */
export const laterModules: Record<string, Topic> = {
  "@mastra/core/workflows": "mcp",
};

const TOOL_START = `createTool({ id: "documented", description: "",`;
const IN_TOOL = { before: `export const tool = ${TOOL_START}`, after: "});" };
const ELICITATION_HANDLER = `mcpClient.elicitation.onRequest("server", documented);`;

/** The set-up of each block that needs one, by the block's name. */
export const blockTable = {
  ...threadBlocks,
  ...notificationBlocks,
  ...mcpBlocks,
  ...clientBlocks,
  ...serverBlocks,
  ...ragBlocks,
  ...controllerBlocks,

  // 1-agent-class.md
  "1-basic-string-instructions-1": {
    hash: "802e9887",
    run: async ({ agent, agent2, agent3 }, _, block) => {
      assertWrittenIn(block, await systemMessagesOf(agent), 1);
      assertWrittenIn(block, await systemMessagesOf(agent2), 1);
      assertWrittenIn(block, await systemMessagesOf(agent3), 2);
    },
  },
  "1-provider-specific-configurations-1": {
    hash: "3388f5be",
    run: async ({ agent }, _, block) => {
      const messages = await systemMessagesOf(agent);
      assertWrittenIn(block, messages, 1);
      assert.deepEqual(messages[0]?.providerOptions, { openai: { reasoningEffort: "low" } });
    },
  },
  "1-mixed-instruction-formats-1": {
    hash: "b2fdc122",
    run: async ({ agent }, _, block) => {
      const messages = await systemMessagesOf(agent);
      assertWrittenIn(block, messages, 3);
      const options = messages.map((message) => message.providerOptions);
      assert.deepEqual(options, [
        undefined,
        undefined,
        { anthropic: { cacheControl: { type: "ephemeral" } } },
      ]);
    },
  },

  // 3-tools-mcp-rag.md: createTool
  "3-usage-example-1": {
    hash: "66b935cc",
    run: async ({ tool }) => {
      assert.deepEqual(await tool.execute({ context: { input: "warp" } }), { output: "praw" });
      assert.equal((await tool.execute({ context: { input: 1 } })).error, true);

      const model = scriptedModel([
        { toolCalls: [{ toolName: "reverse", input: { input: "weft" } }] },
        "tfew",
      ]);
      const agent = new Agent({
        name: "reverser",
        instructions: "Reverse.",
        model,
        tools: { reverse: tool },
      });
      const { text, toolResults } = await agent.generate("weft");
      assert.equal(text, "tfew");
      assert.deepEqual(toolResults[0]?.payload.result, { output: "tfew" });
    },
  },

  // 3-tools-mcp-rag.md: MCPClient
  "3-constructor-1": { hash: "05fcbf75", after: `const documented: Documented = MCPClient;` },
  "3-gettools-1": {
    hash: "dc04313b",
    repair: [["{ tools", `{ name: "a", instructions: "", model: "openai/gpt-5.5", tools`]],
  },
  "3-disconnect-1": signature("04899d0e", "MCPClient"),
  "3-resources-property-1": {
    hash: "1b132ae5",
    repair: [["/* ...servers configuration... */", "servers: {}"]],
  },
  "3-resources-list-1": signature("0a93469a", `MCPClient["resources"]`),
  "3-resources-templates-1": signature("c904e1f8", `MCPClient["resources"]`),
  "3-resources-read-1": signature("74771f95", `MCPClient["resources"]`),
  "3-resources-subscribe-1": signature("5f8f58d4", `MCPClient["resources"]`),
  "3-resources-unsubscribe-1": signature("3f556e04", `MCPClient["resources"]`),
  "3-resources-onupdated-1": signature("d3bf833f", `MCPClient["resources"]`),
  "3-resources-onlistchanged-1": signature("c956ca99", `MCPClient["resources"]`),
  "3-prompts-property-1": {
    hash: "07aa0221",
    repair: [["/* ...servers configuration... */", "servers: {}"]],
  },
  "3-elicitation-property-1": {
    hash: "d3c8eb73",
    repair: [["/* ...servers configuration... */", "servers: {}"]],
  },
  "3-prompts-list-1": signature("aff917f4", `MCPClient["prompts"]`),
  "3-prompts-get-1": signature("3bdc88e4", `MCPClient["prompts"]`),
  "3-prompts-onlistchanged-1": signature("c956ca99", `MCPClient["prompts"]`),
  "3-response-types-1": { hash: "737c0c69", after: ELICITATION_HANDLER },
  "3-response-types-2": { hash: "e929a3d0", after: ELICITATION_HANDLER },
  "3-response-types-3": { hash: "3d1dddbe", after: ELICITATION_HANDLER },

  // 3-tools-mcp-rag.md: MCPServer
  "3-constructor-2": {
    hash: "b4d6cb79",
    repair: [
      [`basic questions."`, `basic questions.",`],
      [
        `import { dataProcessingWorkflow } from "../workflows/dataProcessingWorkflow";`,
        `declare const dataProcessingWorkflow: import("@mastra/core/workflows").Workflow;`,
      ],
    ],
  },
  "3-startstdio-1": signature("90da01a1", "MCPServer"),
  "3-startstdio-2": {
    hash: "ea000570",
    repair: [["// example configuration above", `name: "s", version: "1.0.0", tools: {},`]],
  },
  "3-startsse-1": signature("1d4b9284", "MCPServer"),
  "3-starthonosse-1": signature("b69ff408", "MCPServer"),
  "3-starthttp-1": signature("d35c8686", "MCPServer"),
  "3-close-1": signature("03ab1101", "MCPServer"),
  "3-getserverinfo-1": signature("37dc6c4d", "MCPServer"),
  "3-getserverdetail-1": signature("c1f980ea", "MCPServer"),
  "3-gettoollistinfo-1": signature("63ef50e0", "MCPServer"),
  "3-gettoolinfo-1": signature("94de1e16", "MCPServer"),
  "3-executetool-1": signature("a1649d8e", "MCPServer"),
  "3-getstdiotransport-1": signature("ec33b928", "MCPServer"),
  "3-getssetransport-1": signature("04e163f0", "MCPServer"),
  "3-getssehonotransport-1": signature("6a0bb191", "MCPServer"),
  "3-getstreamablehttptransport-1": signature("a0a4f511", "MCPServer"),
  "3-tools-1": signature("675bba7a", "MCPServer"),
  "3-mcpserverresources-type-1": {
    hash: "370fb3a5",
    after: `declare const documented: MCPServerResources; const ours: import("@mastra/mcp").MCPServerResources = documented;`,
  },
  "3-server-resources-notifyupdated-1": {
    ...signature("95edbe03", `MCPServer["resources"]`),
    repair: [["server.resources.notifyUpdated({", "notifyUpdated(options: {"]],
  },
  "3-server-resources-notifylistchanged-1": {
    ...signature("20e3f13b", `MCPServer["resources"]`),
    repair: [["server.resources.", ""]],
  },
  "3-mcpserverprompts-type-1": {
    hash: "abc1139d",
    after: `declare const documented: MCPServerPrompts; const ours: import("@mastra/mcp").MCPServerPrompts = documented;`,
  },
  "3-tool-execution-signature-1": {
    hash: "690c5a64",
    wrap: IN_TOOL,
    run: async ({ tool }) => {
      const answer = { action: "accept", content: { name: "Ada" } };
      const elicitation = { sendRequest: async () => answer };
      assert.deepEqual(await tool.execute({ context: {} }, { elicitation }), answer);
    },
  },
  "3-elicitation-request-schema-1": {
    hash: "c99b3f72",
    wrap: {
      before: `${TOOL_START} execute: async (_, { elicitation }) => elicitation.sendRequest({ message: "", requestedSchema:`,
      after: "}) });",
    },
  },
  "3-tool-execution-api-1": {
    hash: "5130593a",
    wrap: IN_TOOL,
    repair: [
      ["message: string,", `message: "",`],
      ["requestedSchema: object", "requestedSchema: {}"],
      ["}): Promise<ElicitResult>", "})"],
    ],
  },
  "3-tool-execution-api-2": {
    hash: "b5c98e83",
    after: `${TOOL_START} execute: (_, { elicitation }): Promise<ElicitResult> => elicitation.sendRequest({ message: "", requestedSchema: {} }) });`,
  },
  "3-authentication-context-1": {
    hash: "e14d8a45",
    wrap: IN_TOOL,
    run: async ({ tool }) => assert.equal(await tool.execute({ context: {} }), "Authentication required"),
  },
  "3-authentication-context-2": { hash: "d0e0c3ee", repair: [["(req, res) =>", "async (req, res) =>"]] },

  // 3-tools-mcp-rag.md: retrieval
  "3-queryresult-object-structure-1": signature("08ea8709", "QueryResult"),
  "3-queryresult-object-structure-2": signature("08ea8709", "QueryResult"),
  "3-example-with-filters-2": { hash: "145e973a", after: `const filter: VectorFilter = documented;` },

  // 5-stream.md
  "5-messages-1": {
    hash: "3b96462e",
    after: `declare const messages: Message[]; void myAgent.stream(messages);`,
  },
  "5-basic-text-streaming-1": running({
    hash: "5d227042",
    given: () => {
      const model = scriptedModel([{ text: ["Once ", "upon ", "a loom."] }]);
      const { written, process } = printer();
      return {
        model,
        written,
        process,
        myAgent: new Agent({ name: "teller", instructions: "Tell.", model }),
      };
    },
    run: (_, { model, written }) => {
      assert.deepEqual(written, ["Once ", "upon ", "a loom."]);
      assert.equal(model.calls[0]?.prompt.at(-1)?.role, "user");
    },
  }),
  "5-structured-output-streaming-with-thread-context-1": running({
    hash: "a5bbcaee",
    given: () => {
      const plan = { summary: "Weave.", nextSteps: ["Warp", "Weft"] };
      const model = scriptedModel([{ object: plan }]);
      const memory = new Memory({ storage: new InMemoryStore() });
      const { lines, console } = printer();
      const myAgent = new Agent({ name: "planner", instructions: "Plan.", model, memory });
      return { plan, model, memory, lines, console, myAgent };
    },
    run: async (_, { plan, model, memory, lines }) => {
      assert.equal(model.calls[0]?.responseFormat?.type, "json");
      const streamed = lines.filter((line) => line.length === 1).map(([text]) => text);
      assert.deepEqual(JSON.parse(streamed.join("")), plan);
      assert.equal(lines.filter(([label]) => label === "Finished:").length, 1);
      assert.deepEqual(lines.at(-1), ["Final structured result:", plan]);
      const { messages } = await memory.recall({ threadId: "project-123" });
      assert.deepEqual(
        messages.map((message) => message.role),
        ["user", "assistant"],
      );
    },
  }),
} satisfies Record<string, BlockSetUp>;

/** A signature or shape that something of ours must have. */
function signature(hash: string, ours: string): BlockSetUp {
  return { hash, after: `declare const ours: ${ours}; const documented: Documented = ours;` };
}
