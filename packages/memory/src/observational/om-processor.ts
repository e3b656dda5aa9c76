import { modelName, type ModelConfig, resolveModel } from "@selvedge/core/model";
import type { MessageList } from "@selvedge/core/message";
import type { ProcessInputArgs, ProcessInputStepArgs, Processor } from "@selvedge/core/processors";
import { sleep } from "@selvedge/core/memory";
import type { StoredMessage } from "@selvedge/protocol";
import type { OmConfig } from "./om-config.ts";
import { leftOutLine } from "./om-texts.ts";
import type { OmTurn } from "./om-turn.ts";
import type { OmView } from "./om-view.ts";
import { CONTINUATION_ID, continuationMessage, renderLog } from "./render-log.ts";
import { withTemporalMarkers } from "./temporal-markers.ts";

/** How often a waiting run checks for the result of another process. */
const LOOK_AGAIN_MS = 200;
const LEFT_OUT_ID = "om-left-out";
const OTHERS_ID = "om-other-threads";

export interface OmProcessorOptions {
  turn: OmTurn;
  config: OmConfig;
  /** What other threads of the resource said last, as one message for the end of the prompt. */
  others?: (() => Promise<string | undefined>) | undefined;
  /** Resolves when this process's work on the record has ended, or after a moment. */
  settled(ms: number, signal: AbortSignal): Promise<void>;
}

/** Shows the log and the messages after it, and activates what is ready before each step. */
export class OmProcessor implements Processor {
  readonly id = "observational-memory";
  readonly #options: OmProcessorOptions;
  #isFresh = false;
  /** The system messages that are the log. */
  #log: readonly object[] = [];
  #shown = "";

  constructor(options: OmProcessorOptions) {
    this.#options = options;
  }

  async processInput({ messageList }: ProcessInputArgs): Promise<void> {
    const { turn, config, others } = this.#options;
    const messages = await turn.load();
    const given = messageList.get.all.db().map(({ id }) => id);
    // A continued run, and a client that sends its history, bring messages that notes already cover.
    if (given.length > 1) messageList.removeByIds(await turn.hiddenIds(given));
    messageList.prepend(messages);
    if (config.temporalMarkers) messageList.replace(withTemporalMarkers(messageList.get.all.db()), "memory");
    const other = await others?.();
    if (other !== undefined) messageList.add([reminder(OTHERS_ID, other)], "context");
    this.#log = [];
    this.#shown = "";
    this.#show(messageList);
    this.#isFresh = true;
  }

  async processInputStep(args: ProcessInputStepArgs): Promise<void> {
    const { turn } = this.#options;
    const { messageList } = args;
    if (turn.commits.isComplete(args.messageId)) args.rotateResponseMessageId();
    turn.commits.model = await nameOf(args.model);
    if (!this.#isFresh) await turn.view.refresh();
    this.#isFresh = false;
    await turn.tellWaiting();
    let isChanged = await this.#activate(args);
    isChanged = (await this.#wait(args)) || isChanged;
    isChanged = (await turn.leaveOut(messageList.get.all.db())) || isChanged;
    if (isChanged) {
      const ids = messageList.get.all.db().map(({ id }) => id);
      messageList.removeByIds(await turn.hiddenIds(ids));
      this.#show(messageList);
    }
    await args.writer.custom({
      type: "data-om-status",
      data: turn.view.status(args.stepNumber),
      transient: true,
    });
  }

  #activate({ system, providerOptions }: ProcessInputStepArgs): Promise<boolean> {
    const { turn } = this.#options;
    return turn.activate({
      now: system.now(),
      currentModel: turn.commits.model,
      promptCacheRetention: providerOptions?.["openai"]?.["promptCacheRetention"],
    });
  }

  /** Waits for a job if the run needs its result, within limits. Never throws. */
  async #wait(args: ProcessInputStepArgs): Promise<boolean> {
    const { turn, config } = this.#options;
    const { system, abortSignal } = args;
    const begin = system.monotonic();
    let isChanged = false;
    for (;;) {
      const { observe, reflect } = turn.view.waitsFor;
      const limit = Math.max(
        observe ? config.observation.maxWaitMs : 0,
        reflect ? config.reflection.maxWaitMs : 0,
      );
      const left = limit - (system.monotonic() - begin);
      if ((!observe && !reflect) || left <= 0 || abortSignal.aborted) return isChanged;
      await Promise.race([
        this.#options.settled(left, abortSignal),
        sleep(system, Math.min(left, LOOK_AGAIN_MS), abortSignal).catch(() => {}),
      ]);
      if (abortSignal.aborted) return isChanged;
      await turn.view.refresh();
      await turn.tellWaiting();
      isChanged = (await this.#activate(args)) || isChanged;
    }
  }

  /** Puts the log in its place among the system messages, and the reminders before the messages. */
  #show(list: MessageList): void {
    const { turn, config } = this.#options;
    const omitted = turn.view.part.omitted_count;
    const texts = logMessages(turn.view, config);
    const shown = `${texts.join("\n")}\n${omitted}`;
    if (shown === this.#shown) return;
    this.#shown = shown;
    const system = list.getSystemMessages();
    const found = system.findIndex((message) => this.#log.includes(message));
    const at = found < 0 ? system.length : found;
    const others = system.filter((message) => !this.#log.includes(message));
    const own = texts.map((content) => ({ role: "system" as const, content }));
    list.setSystemMessages([...others.slice(0, at), ...own, ...others.slice(at)]);
    this.#log = own;
    list.removeByIds([CONTINUATION_ID, LEFT_OUT_ID]);
    const reminders: StoredMessage[] = texts.length > 0 ? [continuationMessage()] : [];
    if (omitted > 0) reminders.push(reminder(LEFT_OUT_ID, leftOutLine(omitted)));
    list.prepend(reminders);
  }
}

/** A reminder before a message. It is not stored. */
function reminder(id: string, text: string): StoredMessage {
  const message = continuationMessage();
  return { ...message, id, content: { ...message.content, parts: [{ type: "text", text }] } };
}

/** `provider/model` of the first model called; nothing if that is unknown. */
async function nameOf(model: ModelConfig): Promise<string | undefined> {
  try {
    const [first] = await resolveModel(model);
    return first && modelName(first.model);
  } catch {
    return undefined;
  }
}

/** The log as system messages. */
export function logMessages(view: OmView, { scope, retrieval }: OmConfig): string[] {
  const chunks = view.log.filter(({ text }) => text !== "");
  return renderLog({
    chunks: chunks.map(({ text, kind, first_id, last_id, source }) => ({
      text,
      ...(kind === "observe" && { firstId: first_id ?? undefined, lastId: last_id ?? undefined }),
      ...(scope === "resource" && kind === "observe" && { threadId: source }),
    })),
    retrieval,
    ...view.hints,
  });
}
