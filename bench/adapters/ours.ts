import { peerImport } from "../lib/env.ts";
import { TOOL } from "../lib/script.ts";
import { aiSdkModel } from "../mocks/ai-sdk-model.ts";
import { workflowsApi } from "./workflows.ts";
import type { Adapter, AgentSpec, McpApi } from "./types.ts";

const PEER = "ours";
const RESOURCE = "bench-user";

/** Selvedge as a user gets it: `pack-ours.ts` installs the packed packages in PEERS_DIR/ours. */
export default {
  name: "ours",
  peer: PEER,
  cases: ["a", "b", "c", "d", "e", "f", "g", "i", "j", "k", "l", "m"],
  packages: ["@selvedge/core", "@selvedge/memory", "@selvedge/libsql", "@selvedge/mcp"],
  entry: ["@selvedge/core/agent", "@selvedge/core/tools", "zod"],
  storeEntry: ["@selvedge/memory", "@selvedge/libsql"],
  storeNote: "Memory({ lastMessages: 20 }) on LibSQLStore, file URL, all defaults",
  async load() {
    const { Agent } = await peerImport(PEER, "@selvedge/core/agent");
    const { createTool } = await peerImport(PEER, "@selvedge/core/tools");
    const { z } = await peerImport(PEER, "zod");
    const add = createTool({
      id: TOOL.name,
      description: TOOL.description,
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      execute: TOOL.run,
    });

    async function openMemory(file: string, lastMessages: number) {
      const { Memory } = await peerImport(PEER, "@selvedge/memory");
      const { LibSQLStore } = await peerImport(PEER, "@selvedge/libsql");
      const storage = new LibSQLStore({ id: "bench", url: `file:${file}` });
      return { storage, memory: new Memory({ storage, options: { lastMessages } }) };
    }

    return {
      async createAgent(spec: AgentSpec) {
        const open = spec.store && (await openMemory(spec.store.file, spec.store.lastMessages));
        const agent = new Agent({
          id: "bench-agent",
          name: "bench-agent",
          instructions: "You are a benchmark.",
          model: aiSdkModel("v4", spec.model),
          tools: spec.tools ? { add } : {},
          ...(open && { memory: open.memory }),
        });
        return {
          async run(prompt, { threadId, onChunk }) {
            const out = await agent.stream(prompt, {
              maxSteps: spec.maxSteps,
              ...(open && threadId && { memory: { thread: threadId, resource: RESOURCE } }),
            });
            for await (const chunk of out.fullStream) {
              if (chunk.type === "text-delta") onChunk("text");
              else if (chunk.type === "tool-call") onChunk("tool");
              else if (chunk.type === "error") throw chunk.payload.error;
            }
          },
          async seed(threadIds, messages) {
            for (const threadId of threadIds) {
              await open!.memory.createThread({ threadId, resourceId: RESOURCE, title: "bench" });
              for (let i = 0; i < messages.length; i += 500) {
                const page = messages.slice(i, i + 500).map(({ role, text, at }, k) => ({
                  id: `${threadId}-${i + k}`,
                  role,
                  createdAt: at,
                  threadId,
                  resourceId: RESOURCE,
                  content: { format: 2, parts: [{ type: "text", text }] },
                }));
                await open!.memory.saveMessages({ messages: page });
              }
            }
          },
          async count(threadId) {
            return (await open!.memory.recall({ threadId, resourceId: RESOURCE, perPage: false })).total;
          },
          async close() {
            await open?.storage.close();
          },
        };
      },

      async signals({ model, file, tools }) {
        const { storage, memory } = await openMemory(file, 20);
        const agent = new Agent({
          id: "bench-agent",
          name: "bench-agent",
          instructions: "You are a benchmark.",
          model: aiSdkModel("v4", model),
          tools: tools ? { add } : {},
          memory,
          // As a user who lets a thread work for long would set it.
          defaultOptions: { maxSteps: 1_000 },
        });
        const target = (threadId: string) => ({ resourceId: RESOURCE, threadId });
        return {
          async subscribe(threadId) {
            const subscription = await agent.subscribeToThread(target(threadId));
            return {
              stream: subscription.stream,
              unsubscribe: () => subscription.unsubscribe(),
              isText: (chunk) => chunk.type === "text-delta",
              isEcho: (chunk) => chunk.type === "data-user-message",
              isFinish: (chunk) => chunk.type === "finish",
            };
          },
          async sendMessage(threadId, text) {
            return agent.sendMessage(text, target(threadId)).admitted;
          },
          async queueMessage(threadId, text) {
            return agent.queueMessage(text, target(threadId)).admitted;
          },
          async persistSignal(threadId, text) {
            const sent = agent.sendSignal(
              { type: "notification", contents: text },
              { ...target(threadId), ifIdle: { behavior: "persist" } },
            );
            await sent.persisted;
          },
          async close() {
            await storage.close();
          },
        };
      },

      async sandbox(options) {
        const { LocalSandbox } = await peerImport(PEER, "@selvedge/core/workspace");
        const sandbox = new LocalSandbox({ ...options, logger: false });
        await sandbox.start();
        return (command) => sandbox.executeCommand(command);
      },

      async observing({ model, file, tools, om, observer }) {
        const { Memory } = await peerImport(PEER, "@selvedge/memory");
        const { LibSQLStore } = await peerImport(PEER, "@selvedge/libsql");
        const { OM_JOBS, update } = await peerImport(PEER, "@selvedge/core/storage");
        const storage = new LibSQLStore({ id: "bench", url: `file:${file}` });
        const calls = { reads: 0, commits: 0 };
        for (const [name, kind] of [
          ["select", "reads"],
          ["selectAll", "reads"],
          ["commit", "commits"],
        ] as const) {
          const original = storage[name].bind(storage);
          storage[name] = (...args: unknown[]) => (calls[kind]++, original(...args));
        }
        const script = observer ?? (() => ({ text: ["<observations>\n- 🟡 Noted.\n</observations>"] }));
        const observationalMemory = om && { model: aiSdkModel("v4", { script }), ...om };
        const memory = new Memory({
          storage,
          onWarning: () => {},
          options: observationalMemory ? { lastMessages: 0, observationalMemory } : { lastMessages: 1_000 },
        });
        const agent = new Agent({
          id: "bench-agent",
          name: "bench-agent",
          instructions: "You are a benchmark.",
          model: aiSdkModel("v4", model),
          tools: tools ? { add } : {},
          memory,
        });
        const target = (threadId: string) => ({ threadId, resourceId: RESOURCE });
        return {
          calls,
          async turn(threadId, text) {
            const out = await agent.stream(text, {
              maxSteps: 11,
              memory: { thread: threadId, resource: RESOURCE },
            });
            for await (const chunk of out.fullStream) if (chunk.type === "error") throw chunk.payload.error;
          },
          seed: (threadId, messages) => seedThread(memory, threadId, messages),
          settled: () => memory.settled(),
          observe: (threadId) => memory.observationalMemory.observe(target(threadId)),
          activate: (threadId) => memory.observationalMemory.activate(target(threadId)),
          async buffered(threadId) {
            const record = await memory.observationalMemory.getRecord(threadId, RESOURCE);
            return record?.bufferedObservationChunks?.length ?? 0;
          },
          async postpone() {
            const where = { state: "waiting" };
            await storage.commit([update(OM_JOBS, { where, set: { due_at: Date.now() + 3_600_000 } })]);
            return storage.count({ table: OM_JOBS, where });
          },
          async close() {
            await agent.close();
            await storage.close();
          },
        };
      },

      async processed({ model, processors }) {
        const { BatchPartsProcessor, RegexFilterProcessor, TokenLimiter } = await peerImport(
          PEER,
          "@selvedge/core/processors",
        );
        const outputProcessors =
          processors === "plain"
            ? [{ id: "plain", processOutputStream: async ({ part }: { part: unknown }) => part }]
            : [
                new RegexFilterProcessor({ presets: ["pii"], strategy: "redact", phase: "output" }),
                new BatchPartsProcessor({ batchSize: 5 }),
                new TokenLimiter(1_000_000),
              ];
        const agent = new Agent({
          id: "bench-agent",
          name: "bench-agent",
          instructions: "You are a benchmark.",
          model: aiSdkModel("v4", model),
          outputProcessors,
        });
        return {
          async run() {
            const out = await agent.stream("go");
            for await (const chunk of out.fullStream) if (chunk.type === "error") throw chunk.payload.error;
          },
        };
      },

      async sessions({ model, file }) {
        const { AgentController } = await peerImport(PEER, "@selvedge/core/agent-controller");
        const { storage, memory } = await openMemory(file, 20);
        const make = (id: string) =>
          new Agent({
            id,
            name: id,
            instructions: "You are a benchmark.",
            model: aiSdkModel("v4", model),
            memory,
          });
        const agent = make("bench-agent");
        const controller = new AgentController({
          id: "bench",
          resourceId: RESOURCE,
          agent: make("bench-mode"),
          memory,
          storage,
          modes: [{ id: "plan" }, { id: "build" }],
          subagents: [{ id: "helper", name: "Helper", description: "Helps.", instructions: "Help." }],
        });
        return {
          async bare(threadId) {
            const target = { threadId, resourceId: RESOURCE };
            const reader = await agent.subscribeToThread(target);
            const chunks = reader.stream[Symbol.asyncIterator]();
            return {
              async turn(text) {
                await agent.sendMessage(text, target).admitted;
                for (;;) if ((await chunks.next()).value.type === "finish") return;
              },
              async close() {
                reader.unsubscribe();
              },
            };
          },
          async open(id, threadId) {
            const session = await controller.createSession({
              id,
              ownerId: RESOURCE,
              ...(threadId && { threadId }),
            });
            return {
              turn: (content) => session.sendMessage({ content }),
              listen: (listener) => session.subscribe((event: { type: string }) => listener(event.type)),
              switchMode: () =>
                session.mode.switch({ modeId: session.mode.get() === "plan" ? "build" : "plan" }),
              close: () => session.core.close(),
            };
          },
          seed: (threadId, messages) => seedThread(memory, threadId, messages),
          async close() {
            await controller.destroy();
            await storage.close();
          },
        };
      },

      async workflows({ file }) {
        const { createStep, createWorkflow } = await peerImport(PEER, "@selvedge/core/workflows");
        const { Mastra } = await peerImport(PEER, "@selvedge/core");
        const { LibSQLStore } = await peerImport(PEER, "@selvedge/libsql");
        const storage =
          file === undefined ? undefined : new LibSQLStore({ id: "bench", url: `file:${file}` });
        const close = async () => storage?.close?.();
        return workflowsApi({ createStep, createWorkflow, Mastra, z, storage, close });
      },

      mcp: { "@selvedge/mcp MCPClient": selvedgeClient, "@modelcontextprotocol/client (raw)": rawClient },
    };
  },
} satisfies Adapter;

async function seedThread(memory: any, threadId: string, messages: number): Promise<void> {
  await memory.createThread({ threadId, resourceId: RESOURCE, title: "bench" });
  for (let i = 0; i < messages; i += 500) {
    const page = Array.from({ length: Math.min(500, messages - i) }, (_, k) => ({
      id: `${threadId}-${i + k}`,
      role: k % 2 ? "assistant" : "user",
      createdAt: new Date(Date.now() - 1e9 + (i + k) * 1000),
      threadId,
      resourceId: RESOURCE,
      content: { format: 2, parts: [{ type: "text", text: `message ${i + k} of the thread` }] },
    }));
    await memory.saveMessages({ messages: page });
  }
}

let clients = 0;
const selvedgeClient: McpApi = {
  async connect(t) {
    const { MCPClient } = await peerImport(PEER, "@selvedge/mcp");
    const server = t.kind === "stdio" ? { command: t.command, args: t.args } : { url: new URL(t.url) };
    const client = new MCPClient({ id: `bench-${++clients}`, servers: { s: server } });
    const tool = (await client.getTools())["s_add"];
    return { call: (args) => tool.execute({ context: args }), close: () => client.disconnect() };
  },
};

/** The official client that ours stands on, from the same install. */
const rawClient: McpApi = {
  async connect(t) {
    const mcp = await peerImport(PEER, "@modelcontextprotocol/client");
    const { StdioClientTransport } = await peerImport(PEER, "@modelcontextprotocol/client/stdio");
    const client = new mcp.Client(
      { name: "bench", version: "1.0.0" },
      { versionNegotiation: { mode: "auto" } },
    );
    await client.connect(
      t.kind === "stdio"
        ? new StdioClientTransport({ command: t.command, args: t.args })
        : new mcp.StreamableHTTPClientTransport(new URL(t.url)),
    );
    await client.listTools();
    return {
      call: (args) => client.callTool({ name: "add", arguments: args }),
      close: () => client.close(),
    };
  },
};
