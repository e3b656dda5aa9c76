import { StringDecoder } from "node:string_decoder";
import { onAbort, offAbort } from "../../abort.ts";
import type { System } from "../../system.ts";
import type { ToolExecutionOptions, ToolWriter } from "../../tool/tool.ts";
import { BeginningAndEnd } from "./kept-output.ts";
import { OutputPieces } from "./output-pieces.ts";
import type { ProcessKey, ProcessRow, ProcessStore } from "./process-domain.ts";
import { OUTPUT_FOLDER, showOutput, type ShowOptions } from "./show-output.ts";
import { StoredOutput } from "./stored-output.ts";
import type { CommandResult, OutputStream, ProcessHandle } from "./workspace-sandbox.ts";

/** What is kept for the model of the beginning, and of the end. */
const KEPT_BYTES = 256 * 1024;

export interface CommandCall {
  /** If the run has no thread, what else the process belongs to. */
  threadId: string;
  toolCallId: string;
  command: string;
  /** See `processPlace`. */
  workspace: string;
  /** Absent if the run is not stored. */
  store: ProcessStore | undefined;
  writer: ToolWriter;
  saveProgress: ToolExecutionOptions["saveProgress"];
  system: System;
  /** Called with output after the call has ended. */
  background: {
    onStdout?(text: string, process: { pid: string }): void;
    onStderr?(text: string, process: { pid: string }): void;
  };
}

/** A command that a tool call started: its process, and where its output goes. */
export class RunningCommand {
  readonly threadId: string;
  readonly #key: ProcessKey;
  readonly #call: CommandCall;
  readonly #kept = new BeginningAndEnd(KEPT_BYTES);
  readonly #pieces: OutputPieces;
  readonly #stored: StoredOutput | undefined;
  #handle: ProcessHandle | undefined;
  #result: CommandResult | undefined;
  #ended: Promise<CommandResult> | undefined;
  #inCall = true;
  readonly #decoders = { stdout: new StringDecoder("utf8"), stderr: new StringDecoder("utf8") };

  constructor(call: CommandCall) {
    this.#call = call;
    this.threadId = call.threadId;
    this.#key = { thread_id: call.threadId, id: call.system.newId() };
    const { writer, toolCallId, system, store } = call;
    this.#pieces = new OutputPieces(system, ({ stream, ...piece }) => {
      const data = { ...piece, timestamp: system.now(), toolCallId };
      // Not awaited: a slow reader must not slow the command.
      void writer.custom({ type: `data-sandbox-${stream}`, data, transient: true }).catch(() => {});
    });
    this.#stored = store && new StoredOutput(store, this.#key, system, () => void this.#handle?.kill());
  }

  get handle(): ProcessHandle {
    return this.#handle!;
  }

  /** How it ended; `undefined` while it runs. */
  get result(): CommandResult | undefined {
    return this.#result;
  }

  /** For a model. */
  show(options: ShowOptions): string {
    const path = this.#stored && OUTPUT_FOLDER + this.#call.toolCallId;
    return showOutput(this.#kept.text(), { ...options, path, leftOutBytes: this.#kept.leftOutBytes });
  }

  readonly take = (stream: OutputStream, bytes: Buffer): void => {
    this.#kept.append(bytes);
    this.#stored?.push(stream, bytes);
    if (this.#inCall) this.#pieces.push(stream, bytes);
    else this.#tellBackground(stream, bytes);
  };

  #tellBackground(stream: OutputStream, bytes: Buffer): void {
    const { onStdout, onStderr } = this.#call.background;
    const listener = stream === "stdout" ? onStdout : onStderr;
    listener?.(this.#decoders[stream].write(bytes), { pid: this.handle.pid });
  }

  /** Records the process before its command runs. */
  async begin(handle: ProcessHandle, background: boolean): Promise<void> {
    this.#handle = handle;
    const { store, command, workspace, toolCallId, writer, saveProgress } = this.#call;
    const start = {
      ...this.#key,
      workspace,
      tool_call_id: toolCallId,
      command,
      background: background ? 1 : 0,
      pid: handle.pid,
    };
    // If the call runs again, this is how it knows that it ran before.
    if (store) await saveProgress({ process: this.#key.id }, [store.begin(start)]);
    const data = { command, pid: handle.pid, toolCallId };
    void writer.custom({ type: "data-sandbox-command", data }).catch(() => {});
  }

  /** Resolves when its end is stored. */
  get ended(): Promise<unknown> | undefined {
    return this.#ended?.catch(() => undefined);
  }

  /** Waits for the end, which it stores. */
  finish(): Promise<CommandResult> {
    this.#ended ??= this.#finish();
    return this.#ended;
  }

  async #finish(): Promise<CommandResult> {
    const result = await this.handle.wait();
    this.#result = result;
    const { exitCode, success, executionTimeMs, killed, timedOut } = result;
    this.#pieces.flush();
    const ending: Partial<ProcessRow> = {
      state: "exited",
      exit_code: exitCode,
      ending: timedOut ? "killed after its time limit" : killed ? "killed" : null,
    };
    await this.#stored?.finish(ending);
    if (this.#inCall) {
      const how = { ...(killed && { killed }), ...(timedOut && { timedOut }) };
      const data = { exitCode, success, executionTimeMs, toolCallId: this.#call.toolCallId, ...how };
      await this.#call.writer.custom({ type: "data-sandbox-exit", data });
    }
    return result;
  }

  /** Kills the process when the signal aborts, until the returned function is called. */
  endWith(signal: AbortSignal): () => void {
    const waiter = { handleEvent: () => void this.handle.kill() };
    if (signal.aborted) waiter.handleEvent();
    onAbort(signal, waiter);
    return () => offAbort(signal, waiter);
  }

  /** Called when the call ends before the process. Its output is then no longer part of the run's stream. */
  async detach(): Promise<void> {
    this.#pieces.flush();
    this.#inCall = false;
    const { store, threadId } = this.#call;
    if (!store) return;
    await store.background(this.#key);
    const stop = store.onDeletion(threadId, () => void this.handle.kill());
    void this.handle.wait().then(stop);
  }
}
