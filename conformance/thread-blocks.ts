import assert from "node:assert/strict";
import type { StoredMessage } from "@selvedge/core/agent";
import type { ComputeStateSignalArgs } from "@selvedge/core/processors";
import { createTool } from "@selvedge/core/tools";
import { z } from "zod";
import { type BlockSetUp, running } from "./block-set-up.ts";
import { printer } from "./fixtures.ts";
import {
  CALLED,
  chunksOf,
  readBy,
  restless,
  startRun,
  type Target,
  THREAD_1,
  THREAD_2,
  threadAgent,
} from "./thread-fixtures.ts";

const AGENTS_MD = "packages/ui/AGENTS.md";

interface BrowserState {
  activeUrl: string;
  tabCount: number;
  open: boolean;
}

/** The blocks of documents 1 and 2 about threads and signals. */
export const threadBlocks = {
  "1-thread-signals-1": running({
    hash: "5dc7e53a",
    after: "export { subscription };",
    given: () => ({ ...restlessAgent(), ...printer() }),
    run: async ({ subscription }, { agent, model, lines }) => {
      const chunks = await chunksOf(agent, THREAD_1);
      assert.equal(model.calls.length, 3);
      assert.deepEqual(
        lines.map(([chunk]) => chunk),
        chunks,
      );
      assert.equal(subscription.activeRunId(), null);
      subscription.unsubscribe();
    },
  }),
  "1-thread-signals-2": running({
    hash: "4e904de9",
    given: threadAgent,
    run: async (_, { agent, model }, { shows }) => {
      await chunksOf(agent, THREAD_1);
      assert.deepEqual(readBy(model, 0), shows);
    },
  }),
  "1-thread-signals-3": conditionalAttributes("0638baf5", THREAD_1),
  "1-sendmessage-1": wokenForThreeSteps("cf54b010", THREAD_1),
  "1-queuemessage-1": queued("aaa35c24", THREAD_1),
  "1-sendstatesignal-1": running({
    hash: "e39a6120",
    wrap: { before: CALLED.before, after: "return result; };" },
    given: threadAgent,
    run: ({ documented }, given) => toldOnce(documented, given, THREAD_1),
  }),

  "2-quickstart-1": running({
    hash: "96f42193",
    wrap: CALLED,
    given: () => {
      const { lines, console } = printer();
      const stop = new Error("seen enough");
      const log = (chunk: { type: string }): void => {
        console.log(chunk);
        if (chunk.type === "finish") throw stop;
      };
      return { ...threadAgent(), lines, stop, console: { log } };
    },
    run: async ({ documented }, { agent, model, lines, stop }) => {
      await assert.rejects(documented(), stop);
      assert.deepEqual(readBy(model, 0), ["Compare that with the previous option."]);
      assert.deepEqual(
        lines.map(([chunk]) => chunk),
        await chunksOf(agent, THREAD_2),
      );
    },
  }),
  "2-send-a-message-now-1": running({
    hash: "39e57985",
    wrap: CALLED,
    given: threadAgent,
    run: async ({ documented }, given, { shows }) => {
      const { go } = await startRun(given, THREAD_2);
      await documented();
      go();
      const chunks = await chunksOf(given.agent, THREAD_2);
      assert.equal(new Set(chunks.map((chunk) => chunk.runId)).size, 1);
      assert.deepEqual(readBy(given.model, 1), ["Begin.", ...shows]);
    },
  }),
  "2-queue-a-message-for-the-next-turn-1": queued("0d7a73a8", THREAD_2),
  "2-control-low-level-signal-behavior-1": running({
    hash: "6555a895",
    after: "export { result };",
    given: threadAgent,
    run: async ({ result }, { agent, model, memory }) => {
      assert.equal(result.accepted, true);
      const { messages } = await memory.recall(THREAD_2);
      assert.deepEqual(
        messages.map(({ id, role, type }) => ({ id, role, type })),
        [{ id: result.signal.id, role: "signal", type: "notification" }],
      );
      assert.equal(model.calls.length, 0);
      const seen = await chunksOf(agent, THREAD_2);
      assert.deepEqual(
        seen.map((chunk) => chunk.type),
        ["start", "data-signal", "finish"],
      );
    },
  }),
  "2-control-low-level-signal-behavior-2": wokenForThreeSteps("82d65e1c", THREAD_2),
  "2-send-notification-context-1": running({
    hash: "5a5cddae",
    given: threadAgent,
    run: async (_, { agent, model }, { shows }) => {
      await chunksOf(agent, THREAD_2);
      assert.deepEqual(readBy(model, 0), shows);
    },
  }),
  "2-send-processor-context-1": running({
    hash: "82dcb27b",
    given: () => ({
      findAgentsMdPathFromToolCalls,
      hasAlreadySentAgentsMdReminder,
      readAgentsMdInstructions,
    }),
    run: async ({ agentsMdReminderProcessor }, _, { shows }) => {
      const readFile = createTool({
        id: "readFile",
        description: "Reads a file.",
        inputSchema: z.object({ path: z.string() }),
        execute: async ({ context }) => `contents of ${context.path}`,
      });
      const read = (path: string) => ({ toolCalls: [{ toolName: "readFile", input: { path } }] });
      const { agent, model, memory } = threadAgent([read(AGENTS_MD), read("src/index.ts")], {
        tools: { readFile },
        inputProcessors: [agentsMdReminderProcessor],
      });
      await agent.sendMessage("Look at the button.", THREAD_2).admitted;
      const chunks = await chunksOf(agent, THREAD_2);
      const [shown] = shows.map((xml) => xml.replace(/>\s+/, ">").replace(/\s+</, "<"));
      const reminder = shown!.replace("$agentsMdFileContents", readAgentsMdInstructions());
      assert.deepEqual(
        [0, 1, 2].map((call) => readBy(model, call).slice(1)),
        [[], [reminder], [reminder]],
      );
      assert.equal(chunks.filter((chunk) => chunk.type === "data-signal").length, 1);
      const { messages } = await memory.recall(THREAD_2);
      assert.equal(messages.filter((message) => message.type === "system-reminder").length, 1);
    },
  }),
  "2-conditional-attributes-1": conditionalAttributes("e96fbbd2", THREAD_2),
  "2-state-signals-1": running({
    hash: "50b10129",
    wrap: { before: "export const documented = async () => { return (", after: "); };" },
    given: threadAgent,
    run: ({ documented }, given) => toldOnce(documented, given, THREAD_2),
  }),
  "2-state-signals-2": running({
    hash: "9ca4601f",
    given: () => {
      const browser: BrowserState = { activeUrl: "https://example.com", tabCount: 3, open: true };
      return {
        browser,
        readCurrentBrowserState: () => ({ ...browser }),
        readMostRecentBrowserState,
        diffBrowserState,
        stableBrowserStateCacheKey: (state: BrowserState) => JSON.stringify(state),
        describeBrowserDelta: (delta: Partial<BrowserState>) => `Changed: ${JSON.stringify(delta)}`,
        describeBrowserSnapshot: (state: BrowserState) => `Browser: ${JSON.stringify(state)}`,
      };
    },
    run: async ({ browserStateProcessor }, { browser }) => {
      const { agent, model, memory } = threadAgent([], { inputProcessors: [browserStateProcessor] });
      const say = (text: string) =>
        agent.generate(text, { memory: { thread: THREAD_2.threadId, resource: THREAD_2.resourceId } });
      await say("One.");
      await say("Two.");
      browser.tabCount = 4;
      await say("Three.");
      const snapshot = `<state>Browser: {"activeUrl":"https://example.com","tabCount":3,"open":true}</state>`;
      assert.deepEqual(readBy(model, 1), ["One.", snapshot, "Two."]);
      assert.deepEqual(readBy(model, 2), [
        "One.",
        snapshot,
        "Two.",
        "Three.",
        `<state>Changed: {"tabCount":4}</state>`,
      ]);
      const { messages } = await memory.recall({ ...THREAD_2, perPage: false });
      assert.deepEqual(messages.flatMap(stateOf), [
        { id: "browser", mode: "snapshot", version: 1 },
        { id: "browser", mode: "delta", version: 2 },
      ]);
    },
  }),
  "2-approve-tool-calls-1": running({
    hash: "61acc020",
    wrap: { before: "export const documented = async () => { return (", after: "); };" },
    given: () => {
      const paid: number[] = [];
      const pay = createTool({
        id: "pay",
        description: "Pays.",
        inputSchema: z.object({ amount: z.number() }),
        requireApproval: true,
        execute: async ({ context }) => paid.push(context.amount),
      });
      const call = { toolCallId: "tool-call_456", toolName: "pay", input: { amount: 5 } };
      return { ...threadAgent([{ toolCalls: [call] }], { tools: { pay } }), paid };
    },
    run: async ({ documented }, { agent, paid }) => {
      const { stream } = await agent.subscribeToThread(THREAD_2);
      const { runId } = agent.sendMessage("Pay.", THREAD_2);
      const types: string[] = [];
      for await (const chunk of stream) {
        types.push(chunk.type);
        assert.equal(chunk.runId, runId);
        if (chunk.type === "tool-call-approval") {
          assert.deepEqual(paid, []);
          assert.deepEqual(await documented(), { accepted: true, runId, toolCallId: "tool-call_456" });
        }
        if (chunk.type === "finish" && types.includes("tool-result")) break;
      }
      assert.deepEqual(paid, [5]);
      await assert.rejects(documented(), { code: "not-found" });
    },
  }),
} satisfies Record<string, BlockSetUp>;

function restlessAgent() {
  const look = createTool({ id: "look", description: "Looks.", execute: async () => "nothing" });
  return threadAgent(restless("look"), { tools: { look } });
}

function wokenForThreeSteps(hash: string, target: Target) {
  return running({
    hash,
    given: restlessAgent,
    run: async (_, { agent, model }) => {
      await chunksOf(agent, target);
      assert.equal(model.calls.length, 3);
      assert.deepEqual(readBy(model, 0), ["Continue with the next step."]);
    },
  });
}

/** Idle: a run at once. Active: a run of its own, when the one under way is over. */
function queued(hash: string, target: Target) {
  return running({
    hash,
    wrap: CALLED,
    given: threadAgent,
    run: async ({ documented }, given) => {
      const text = "Also check whether the tests need updates.";
      await documented();
      await chunksOf(given.agent, target);
      const { go } = await startRun(given, target);
      await documented();
      go();
      const chunks = await chunksOf(given.agent, target, 3);
      assert.equal(new Set(chunks.map((chunk) => chunk.runId)).size, 3);
      assert.deepEqual(
        [0, 1, 2].map((call) => readBy(given.model, call)),
        [[text], [text, "Begin."], [text, "Begin.", text]],
      );
    },
  });
}

/** The first XML is what the model sees of it on an active thread, the second on an idle one. */
function conditionalAttributes(hash: string, target: Target) {
  return running({
    hash,
    wrap: CALLED,
    given: threadAgent,
    run: async ({ documented }, given, { shows: [whileActive, whenIdle] }) => {
      await documented();
      await chunksOf(given.agent, target);
      assert.deepEqual(readBy(given.model, 0), [whenIdle]);
      const { go } = await startRun(given, target);
      await documented();
      go();
      await chunksOf(given.agent, target, 2);
      assert.deepEqual(readBy(given.model, 2), [whenIdle, "Begin.", whileActive]);
    },
  });
}

/** New state wakes the thread and becomes its lane's first version; the same state again is skipped. */
async function toldOnce(
  documented: () => Promise<any>,
  { agent, model, memory }: ReturnType<typeof threadAgent>,
  target: Target,
): Promise<void> {
  await assert.rejects(documented(), { code: "not-found" });
  await memory.createThread(target);
  const told = await documented();
  assert.equal(told.accepted, true);
  assert.ok(!told.skipped);
  const { state, value } = told.signal.metadata;
  const { cacheKey, ...rest } = state;
  assert.deepEqual(rest, { id: "browser", threadId: target.threadId, version: 1, mode: "snapshot" });
  assert.equal(cacheKey, "browser:https://example.com:3-tabs");
  assert.deepEqual(value, { activeUrl: "https://example.com", tabCount: 3, open: true });
  const stored = await memory.getThreadById(target);
  const kept = stored?.metadata?.["mastra"] as { stateSignals?: Record<string, any> } | undefined;
  const { updatedAt: _, ...tracking } = kept?.stateSignals?.["browser"] ?? {};
  assert.deepEqual(tracking, {
    currentCacheKey: cacheKey,
    currentMode: "snapshot",
    version: 1,
    lastSignalId: told.signal.id,
    lastSnapshotSignalId: told.signal.id,
  });
  await chunksOf(agent, target);
  assert.deepEqual(readBy(model, 0), [`<state>${told.signal.contents}</state>`]);
  assert.deepEqual(await documented(), { accepted: true, skipped: true, reason: "unchanged" });
  assert.equal(model.calls.length, 1);
}

function findAgentsMdPathFromToolCalls(messages: StoredMessage[]): string | undefined {
  for (const part of messages.flatMap((message) => message.content.parts)) {
    const path = part.type === "tool-invocation" && (part.toolInvocation.args as { path?: string }).path;
    if (path && path.endsWith("AGENTS.md")) return path;
  }
  return undefined;
}

function hasAlreadySentAgentsMdReminder(messages: StoredMessage[], path: string): boolean {
  return messages.some((message) => signalOf(message)?.metadata?.["path"] === path);
}

function readAgentsMdInstructions(_path?: string): string {
  return "Use the Button of this package.";
}

function readMostRecentBrowserState(
  signals: ComputeStateSignalArgs["activeStateSignals"],
): BrowserState | undefined {
  return signals.findLast((signal) => signal.laneId === "browser")?.value;
}

function diffBrowserState(from: BrowserState, to: BrowserState): Partial<BrowserState> {
  const changed = Object.entries(to).filter(([name, value]) => from[name as keyof BrowserState] !== value);
  return Object.fromEntries(changed);
}

interface StoredSignal {
  metadata?: Record<string, unknown> & { state?: { id: string; mode: string; version: number } };
}

function signalOf(message: StoredMessage): StoredSignal | undefined {
  return message.content.metadata?.["signal"] as StoredSignal | undefined;
}

function stateOf(message: StoredMessage): { id: string; mode: string; version: number }[] {
  const state = signalOf(message)?.metadata?.state;
  return state ? [{ id: state.id, mode: state.mode, version: state.version }] : [];
}
