import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent } from "@selvedge/core/agent";
import {
  AgentController,
  type AgentControllerConfig,
  type AgentControllerDisplayState,
  type AgentControllerEvent,
  type AgentControllerMessage,
} from "@selvedge/core/agent-controller";
import { InMemoryStorage } from "@selvedge/core/storage";
import { createTool } from "@selvedge/core/tools";
import { Memory } from "@selvedge/memory";
import { type Script, scriptedModel } from "@selvedge/testing";
import { type BlockSetUp, running } from "./block-set-up.ts";
import { printer } from "./fixtures.ts";
import { CALLED } from "./thread-fixtures.ts";

type Event<Type extends AgentControllerEvent["type"]> = Extract<AgentControllerEvent, { type: Type }>;

const QUESTION = { question: "Refactor?" };
const CHOICE = {
  question: "What else?",
  options: [{ label: "Add tests" }, { label: "Update docs" }],
  selectionMode: "multi_select",
};
const asks = (toolName: string, input: object, toolCallId = "call-1") => ({
  toolCalls: [{ toolName, input, toolCallId }],
});

/** A controller in memory, and what it tells. */
function loom(
  script: Script = ({ index }) => `Answer ${index + 1}.`,
  more: Partial<AgentControllerConfig> = {},
) {
  const model = scriptedModel(script);
  const storage = new InMemoryStorage();
  const memory = new Memory({ storage });
  const agent = new Agent({ name: "weaver", instructions: "Weave.", model, memory }) as unknown as Agent;
  const agentController = new AgentController({
    id: "my-coding-agent",
    agent,
    storage,
    modes: [
      { id: "plan", metadata: { default: true }, transitionsTo: "build", instructions: "Plan." },
      { id: "build", instructions: "Build." },
    ],
    ...more,
  });
  const events: AgentControllerEvent[] = [];
  agentController.subscribe((event) => void events.push(event));
  const until = async <Type extends AgentControllerEvent["type"]>(
    type: Type,
    count = 1,
  ): Promise<Event<Type>> => {
    const found = () => events.filter((event) => event.type === type) as Event<Type>[];
    for (let turn = 0; turn < 2000 && found().length < count; turn++)
      await new Promise((resolve) => setTimeout(resolve, 2));
    return found()[count - 1]!;
  };
  return { agentController, model, storage, memory, events, until };
}

type Loom = ReturnType<typeof loom>;

/** A block that is called when things are as its text says. */
function called<Extra extends object = object>(
  hash: string,
  run: (documented: () => Promise<any>, given: Loom & Extra) => unknown,
  options: { returns?: string; given?: () => Loom & Extra; repair?: BlockSetUp["repair"] } = {},
): BlockSetUp<Loom & Extra> & { given: () => Loom & Extra } {
  const { returns, given = loom as () => Loom & Extra, repair } = options;
  return running<Loom & Extra>({
    hash,
    wrap: returns ? { before: CALLED.before, after: `return ${returns}; };` } : CALLED,
    given,
    ...(repair && { repair }),
    run: (exports: { documented: () => Promise<any> }, values) => run(exports.documented, values),
  });
}

const workspace = () => {
  const inits: string[] = [];
  const write = createTool({
    id: "mastra_workspace_write_file",
    description: "Writes.",
    execute: async () => "ok",
  });
  const made = {
    id: "w",
    name: "Loft",
    status: "ready",
    init: async () => void inits.push("init"),
    tools: () => ({ mastra_workspace_write_file: write }),
  };
  return { inits, made };
};

const withWorkspace = () => {
  const { made, inits } = workspace();
  return { ...loom(undefined, { workspace: made }), made, inits };
};

const textOf = (message: AgentControllerMessage | undefined) =>
  message?.content.map((part) => (part.type === "text" ? part.text : "")).join("");

/** The blocks of document 4. */
export const controllerBlocks = {
  "4-usage-example-1": running({
    hash: "b9eb8d6b",
    repair: [["file:./data.db", `file:${join(tmpdir(), `selvedge-usage-${process.pid}.db`)}`]],
    after: "export { agentController };",
    given: () => {
      const model = scriptedModel(["Hello to you."]);
      const rendered: string[] = [];
      return {
        model,
        rendered,
        myAgent: new Agent({ name: "mine", instructions: "Be kind.", model }) as unknown as Agent,
        renderMessage: (message: AgentControllerMessage) => void rendered.push(textOf(message) ?? ""),
      };
    },
    run: async ({ agentController }, { model, rendered }) => {
      assert.equal(rendered.at(-1), "Hello to you.");
      assert.match(JSON.stringify(model.calls[0]?.prompt), /Reason about changes before making them\./);
      const messages = await agentController.session.thread.listActiveMessages();
      assert.deepEqual(
        messages.map((message: AgentControllerMessage) => message.role),
        ["user", "assistant"],
      );
      await agentController.destroy();
    },
  }),
  "4-init-1": called("7b60936d", async (documented, { agentController }) => {
    assert.equal(agentController.getMastra(), undefined);
    await documented();
    await documented();
    assert.ok(agentController.getMastra());
  }),
  "4-createsession-1": called(
    "96ff5fb8",
    async (documented, { agentController }) => {
      const session = await documented();
      assert.equal(session.identity.getId(), "session-xyz");
      assert.equal(session.identity.getOwnerId(), "user-123");
      assert.equal(session.identity.getResourceId(), "my-coding-agent");
      assert.equal(session.mode.get(), "plan");
      assert.ok(session.thread.getId());
      assert.equal(await documented(), session);
      assert.notEqual(session, agentController.session);
    },
    { returns: "session" },
  ),
  "4-createsession-2": called(
    "57106d46",
    async (documented) => {
      const session = await documented();
      assert.equal(session.identity.getResourceId(), "project-abc");
      assert.equal((await session.thread.list())[0].resourceId, "project-abc");
    },
    { returns: "session" },
  ),
  "4-createsession-3": called(
    "e8640368",
    async (documented, { myWorkspace, myBrowser, inits }) => {
      const session = await documented();
      assert.equal(session.getWorkspace(), myWorkspace);
      assert.equal(session.browser, myBrowser);
      assert.deepEqual(inits, ["init"]);
      const late: string[] = [];
      session.subscribe((event: AgentControllerEvent) => void late.push(event.type));
      assert.deepEqual(late, ["workspace_status_changed", "workspace_ready"]);
    },
    {
      returns: "session",
      given: () => {
        const { made, inits } = workspace();
        return { ...loom(), myWorkspace: made, myBrowser: { tabs: 1 }, inits };
      },
    },
  ),
  "4-selectorcreatethread-1": called(
    "4be68b9c",
    async (documented, { agentController }) => {
      const first = await documented();
      assert.equal(agentController.session.thread.getId(), first.id);
      await agentController.createThread();
      await agentController.renameThread({ title: "Newer" });
      assert.equal((await documented()).title, "Newer");
    },
    { returns: "thread" },
  ),
  "4-destroy-1": called(
    "d49216c9",
    async (documented, { agentController, stopped }) => {
      await agentController.init();
      await documented();
      assert.deepEqual(stopped, ["gateway-sync"]);
    },
    { given: () => withHeartbeat() },
  ),
  "4-removeheartbeat-1": called(
    "aac4cfdb",
    async (documented, { agentController, beats, stopped }) => {
      await agentController.init();
      assert.deepEqual(beats, ["gateway-sync"]);
      await documented();
      assert.deepEqual(stopped, ["gateway-sync"]);
    },
    { given: () => withHeartbeat() },
  ),
  "4-stopheartbeats-1": called(
    "e003b54f",
    async (documented, { agentController, stopped }) => {
      await agentController.init();
      await documented();
      assert.deepEqual(stopped, ["gateway-sync"]);
    },
    { given: () => withHeartbeat() },
  ),
  "4-getcurrentagent-1": called(
    "07cffa2b",
    async (documented, { agentController, model }) => {
      const agent: Agent = await documented();
      const thread = await agentController.selectOrCreateThread();
      const { text } = await agent.generate("Hi", {
        memory: { thread: thread.id, resource: thread.resourceId },
      });
      assert.equal(text, "Answer 1.");
      assert.match(JSON.stringify(model.calls[0]?.prompt), /Weave\.\\nPlan\./);
    },
    { returns: "agent" },
  ),
  "4-getresolvedmemory-1": called(
    "fe3446e5",
    async (documented, { memory }) => assert.equal(await documented(), memory),
    { returns: "memory", repair: [["const memory", "const resolved"]] },
  ),
  "4-getmastra-1": called(
    "de66c875",
    async (documented, { agentController, storage }) => {
      assert.equal(await documented(), undefined);
      await agentController.init();
      assert.equal((await documented()).getStorage(), storage);
    },
    { returns: "mastra" },
  ),
  "4-getworkspace-1": called(
    "25847519",
    async (documented, { made }) => assert.equal(await documented(), made),
    { returns: "workspace", given: withWorkspace },
  ),
  "4-resolveworkspace-1": called(
    "4b9c0003",
    async (documented, { made }) => assert.deepEqual(await documented(), [made, made]),
    {
      returns: "[workspace, again]",
      repair: [
        [
          "const workspace = await agentController.resolveWorkspace({ session, r",
          "const again = await agentController.resolveWorkspace({ session, r",
        ],
      ],
      given: () => {
        const { made } = workspace();
        const given = loom(undefined, { workspace: () => made });
        return { ...given, made, session: given.agentController.session };
      },
    },
  ),
  "4-hasworkspace-1": called(
    "33738c5b",
    async (documented, { agentController }) => {
      await documented();
      assert.equal(agentController.hasWorkspace(), true);
      assert.equal(loom().agentController.hasWorkspace(), false);
    },
    { given: withWorkspace },
  ),
  "4-isworkspaceready-1": called(
    "afc2f859",
    async (documented, { agentController, inits }) => {
      await documented();
      assert.equal(agentController.isWorkspaceReady(), false);
      await agentController.init();
      assert.deepEqual([agentController.isWorkspaceReady(), inits], [true, ["init"]]);
    },
    { given: withWorkspace },
  ),
  "4-listmodes-1": called(
    "495ea163",
    async (documented) =>
      assert.deepEqual(
        (await documented()).map((mode: { id: string }) => mode.id),
        ["plan", "build"],
      ),
    { returns: "modes" },
  ),
  "4-getcurrentmodelauthstatus-1": called(
    "8dd565c9",
    async (documented, { agentController }) => {
      assert.deepEqual(await documented(), { hasAuth: true });
      await agentController.session.model.switch({ modelId: "anthropic/claude-sonnet-4-6" });
      assert.deepEqual(await documented(), { hasAuth: true, apiKeyEnvVar: "ANTHROPIC_API_KEY" });
    },
    { returns: "status", given: () => loom(undefined, { modelAuthChecker: () => true }) },
  ),
  "4-listavailablemodels-1": called(
    "40aa4a78",
    async (documented) => {
      const models: { id: string; useCount: number }[] = await documented();
      assert.equal(models.find(({ id }) => id === "anthropic/claude-sonnet-4-6")?.useCount, 3);
      assert.ok(models.some(({ id }) => id === "acme/own"));
    },
    {
      returns: "models",
      given: () =>
        loom(undefined, {
          modelUseCountProvider: () => ({ "anthropic/claude-sonnet-4-6": 3 }),
          customModelCatalogProvider: async () => [
            { id: "acme/own", provider: "acme", modelName: "own", hasApiKey: true },
          ],
        }),
    },
  ),
  "4-createthread-1": called(
    "58bfefeb",
    async (documented, { agentController, until }) => {
      const thread = await documented();
      assert.equal(thread.title, "New conversation");
      assert.equal(agentController.session.thread.getId(), thread.id);
      assert.equal((await until("thread_created")).thread.id, thread.id);
    },
    { returns: "thread" },
  ),
  "4-switchthread-1": called("8f831420", async (documented, { agentController, until, memory }) => {
    await assert.rejects(documented(), { code: "not-found" });
    await memory.createThread({ threadId: "thread-abc123", resourceId: "my-coding-agent" });
    const before = await agentController.createThread();
    await documented();
    assert.equal(agentController.session.thread.getId(), "thread-abc123");
    const { threadId, previousThreadId } = await until("thread_changed");
    assert.deepEqual([threadId, previousThreadId], ["thread-abc123", before.id]);
  }),
  "4-renamethread-1": called("dc26d748", async (documented, { agentController }) => {
    const { id } = await agentController.createThread();
    await documented();
    assert.equal((await agentController.session.thread.getById({ threadId: id }))?.title, "Updated title");
  }),
  "4-clonethread-1": called(
    "4691d4d0",
    async (documented, { agentController, memory }) => {
      await agentController.sendMessage({ content: "Remember this." });
      await memory.createThread({ threadId: "thread-abc123", resourceId: "my-coding-agent" });
      const [cloned, named] = await documented();
      const copied = await agentController.session.thread.listMessages({ threadId: cloned.id });
      assert.deepEqual(
        copied.map(({ role }) => role),
        ["user", "assistant"],
      );
      assert.equal(named.title, "Alternative approach");
      assert.equal(agentController.session.thread.getId(), named.id);
    },
    {
      returns: "[cloned, named]",
      repair: [
        [
          "const cloned = await agentController.cloneThread({",
          "const named = await agentController.cloneThread({",
        ],
      ],
    },
  ),
  "4-setresourceid-1": called("9d97fc87", async (documented, { agentController }) => {
    await agentController.createThread();
    await documented();
    const thread = await agentController.selectOrCreateThread();
    assert.equal(thread.resourceId, "project-xyz");
    assert.equal(agentController.session.identity.getResourceId(), "project-xyz");
    assert.equal(agentController.session.identity.getId(), "my-coding-agent");
  }),
  "4-getknownresourceids-1": called(
    "0fbe15cc",
    async (documented, { agentController, memory }) => {
      await agentController.createThread();
      await memory.createThread({ resourceId: "another" });
      assert.deepEqual(await documented(), ["another", "my-coding-agent"]);
    },
    { returns: "resourceIds" },
  ),
  "4-getsession-1": called(
    "822cc5d6",
    async (documented, { agentController }) => {
      const thread = await agentController.createThread();
      const { currentThreadId, currentModeId, threads } = await documented();
      assert.deepEqual([currentThreadId, currentModeId], [thread.id, "plan"]);
      assert.deepEqual(
        threads.map(({ id }: { id: string }) => id),
        [thread.id],
      );
    },
    { returns: "session" },
  ),
  "4-sendmessage-1": called("6a863dcc", async (documented, { agentController, model, events }) => {
    await documented();
    assert.match(JSON.stringify(model.calls[0]?.prompt), /Explain the authentication flow/);
    assert.equal(events.filter(({ type }) => type === "agent_end").length, 1);
    assert.equal(agentController.session.run.isRunning(), false);
  }),
  "4-memory-deletethread-1": called("27081d1f", async (documented, { agentController, memory, until }) => {
    await memory.createThread({ threadId: "thread-abc123", resourceId: "my-coding-agent" });
    await agentController.switchThread({ threadId: "thread-abc123" });
    await documented();
    assert.equal((await until("thread_deleted")).threadId, "thread-abc123");
    assert.equal(agentController.session.thread.getId(), null);
    await assert.rejects(documented(), { code: "not-found" });
  }),
  "4-abort-1": called(
    "1a629d77",
    async (documented, { agentController, until }) => {
      const sent = agentController.sendMessage({ content: "Go" });
      await until("agent_start");
      await documented();
      await sent;
      assert.equal((await until("agent_end")).reason, "aborted");
    },
    { given: () => loom([{ hang: true }]) },
  ),
  "4-steer-1": called(
    "93a5ba75",
    async (documented, { agentController, model, until }) => {
      const sent = agentController.sendMessage({ content: "Review" });
      await until("agent_start");
      await documented();
      await sent;
      assert.match(JSON.stringify(model.calls[1]?.prompt), /Focus on security implications/);
      assert.equal(model.calls.length, 2);
    },
    { given: () => loom([{ ...asks("task_check", {}), delayMs: 50 }, "Secure."]) },
  ),
  "4-followup-1": called(
    "db413f3d",
    async (documented, { agentController, model, until }) => {
      const sent = agentController.sendMessage({ content: "Look" });
      await until("agent_start");
      await documented();
      assert.equal((await until("follow_up_queued")).count, 1);
      await sent;
      await until("agent_end", 2);
      assert.match(JSON.stringify(model.calls[1]?.prompt), /Now apply those changes/);
    },
    { given: () => loom([{ text: "Seen.", delayMs: 50 }, "Applied."]) },
  ),
  "4-respondtotoolsuspension-1": called(
    "3054f9e2",
    async (documented, { agentController, model, until }) => {
      await documented();
      await agentController.sendMessage({ content: "Go" });
      await until("agent_end", 2);
      assert.match(JSON.stringify(model.calls[1]?.prompt), /Yes, proceed with the refactor/);
    },
    { given: () => loom([asks("ask_user", QUESTION), "Proceeding."]) },
  ),
  "4-respondtotoolsuspension-2": called(
    "48294368",
    async (documented, { agentController, model, until }) => {
      await agentController.sendMessage({ content: "Go" });
      await documented();
      await until("agent_end", 2);
      assert.match(JSON.stringify(model.calls[1]?.prompt), /Add tests, Update docs/);
    },
    { given: () => ({ ...loom([asks("ask_user", CHOICE), "Both."]), event: { toolCallId: "call-1" } }) },
  ),
  "4-responding-to-a-submitted-plan-1": called(
    "dbac99fb",
    async (documented, { agentController, until }) => {
      await agentController.sendMessage({ content: "Plan" });
      // The first answer counts. The second is told that it came too late.
      await documented();
      await until("agent_end", 2);
      assert.equal(agentController.session.mode.get(), "build");
      assert.match(String((await until("error")).error), /call-1/);
    },
    {
      given: () => ({
        ...loom([asks("submit_plan", { plan: "Weave." }), "Done."]),
        event: { toolCallId: "call-1" },
      }),
    },
  ),
  "4-gettoolcategory-1": called("395ba440", async (documented) => assert.equal(await documented(), "edit"), {
    returns: "category",
    given: () =>
      loom(undefined, { toolCategoryResolver: (name) => (name.endsWith("write_file") ? "edit" : null) }),
  }),
  "4-loadomprogress-1": called("0e952e55", async (documented, { agentController }) => {
    await agentController.createThread();
    await documented();
  }),
  "4-getobservationalmemoryrecord-1": called(
    "0ec62094",
    async (documented, { lines }) => {
      await documented();
      assert.deepEqual(lines, []);
    },
    { given: () => ({ ...loom(), ...printer() }) },
  ),
  "4-subscribe-1": called(
    "34be3c37",
    async (documented, { agentController, frames }) => {
      const unsubscribe = await documented();
      assert.equal(frames.length, 1);
      await agentController.sendMessage({ content: "Hi" });
      assert.ok(frames.some(({ isRunning }) => isRunning));
      assert.equal(frames.at(-1)?.isRunning, false);
      unsubscribe();
      const count = frames.length;
      await agentController.createThread();
      assert.equal(frames.length, count);
    },
    {
      returns: "unsubscribe",
      given: () => {
        const frames: AgentControllerDisplayState[] = [];
        return { ...loom(), frames, render: (state: AgentControllerDisplayState) => void frames.push(state) };
      },
    },
  ),
  "4-subscribe-2": called(
    "1503e618",
    async (documented, { agentController, rendered, prompts }) => {
      // It unsubscribes at its end, so what it handles is shown by what it listened to before.
      await documented();
      await agentController.sendMessage({ content: "Hi" });
      assert.deepEqual([rendered, prompts], [[], []]);
    },
    {
      given: () => {
        const rendered: object[] = [];
        const prompts: string[] = [];
        return {
          ...loom(),
          rendered,
          prompts,
          renderMessage: (message: object) => void rendered.push(message),
          showApprovalPrompt: (toolName: string) => void prompts.push(toolName),
        };
      },
    },
  ),
  "4-ask-user-selections-1": called(
    "0db8b66e",
    async (documented, { agentController, model, until }) => {
      await documented();
      await agentController.sendMessage({ content: "Go" });
      await until("agent_end", 2);
      assert.match(JSON.stringify(model.calls[1]?.prompt), /Add tests, Update docs/);
    },
    { given: () => loom([asks("ask_user", CHOICE), "Both."]) },
  ),
};

function withHeartbeat(): Loom & { beats: string[]; stopped: string[] } {
  const beats: string[] = [];
  const stopped: string[] = [];
  const id = "gateway-sync";
  const handler = () => void beats.push(id);
  const shutdown = () => void stopped.push(id);
  return {
    ...loom(undefined, { heartbeatHandlers: [{ id, intervalMs: 60_000, handler, shutdown }] }),
    beats,
    stopped,
  };
}
