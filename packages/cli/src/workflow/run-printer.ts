import type { NumberedWorkflowChunk } from "@selvedge/protocol";
import { oneLine } from "../chat/printable.ts";
import type { Style } from "../style.ts";

interface Output {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** How often the line of a long step is renewed. */
const TICK_MS = 1000;

/** Shows the events of a run as lines: one when a step ends or waits, and in a terminal one that shows what runs. */
export class RunPrinter {
  readonly #out: Output;
  readonly #style: Style;
  /** The executions that run or sleep, and when they began. */
  readonly #running = new Map<string, { id: string; began: number }>();
  readonly #progress = new Map<string, string>();
  #timer: ReturnType<typeof setInterval> | undefined;
  #hasLine = false;

  constructor(out: Output, style: Style) {
    this.#out = out;
    this.#style = style;
  }

  take(chunk: NumberedWorkflowChunk): void {
    const { green, red, yellow, dim } = this.#style;
    switch (chunk.type) {
      case "workflow-step-start":
        this.#begin(chunk.payload);
        break;
      case "workflow-step-progress": {
        const { id, completedCount, totalCount } = chunk.payload;
        this.#progress.set(id, `${completedCount} of ${totalCount}`);
        this.#showRunning();
        break;
      }
      case "workflow-step-result": {
        const { id, status, error } = chunk.payload;
        const shown = `${name(id)} ${dim(this.#end(chunk.payload))}`;
        if (status === "success") this.#line(`${green("✓")} ${shown}`);
        else this.#line(`${red("✗")} ${shown}\n  ${oneLine(messageOf(error), 500)}`);
        break;
      }
      case "workflow-step-suspended":
        this.#end(chunk.payload);
        this.#line(
          `${yellow("◆")} ${name(chunk.payload.id)} waits ${dim(shown(chunk.payload.suspendPayload))}`,
        );
        break;
      case "workflow-step-waiting":
        this.#begin(chunk.payload);
        if (!this.#out.isTTY) this.#line(`${dim("…")} ${name(chunk.payload.id)}`);
        break;
    }
  }

  /** A message about the connection. */
  say(text: string): void {
    this.#line(this.#style.dim(text));
  }

  close(): void {
    clearInterval(this.#timer);
    this.#clear();
  }

  #begin(step: StepEvent): void {
    this.#running.set(keyOf(step), { id: step.id, began: Date.now() });
    this.#showRunning();
  }

  #end(step: StepEvent): string {
    // A sleep begins without a call id.
    const key = this.#running.has(keyOf(step)) ? keyOf(step) : step.id;
    const running = this.#running.get(key);
    this.#running.delete(key);
    return running === undefined ? "" : duration(Date.now() - running.began);
  }

  #line(text: string): void {
    this.#clear();
    this.#out.write(`${text}\n`);
    this.#showRunning();
  }

  #showRunning(): void {
    if (!this.#out.isTTY) return;
    this.#clear();
    if (this.#running.size === 0) return;
    this.#timer ??= setInterval(() => this.#showRunning(), TICK_MS).unref();
    // Items of a foreach run at the same time under one name: the oldest stands for them.
    const oldest = new Map([...this.#running.values()].reverse().map(({ id, began }) => [id, began]));
    const names = [...oldest].reverse().map(([id, began]) => {
      const progress = this.#progress.get(id);
      return `${name(id)}${progress === undefined ? "" : ` ${progress}`} ${duration(Date.now() - began)}`;
    });
    this.#out.write(this.#style.dim(oneLine(`▸ ${names.join(", ")}`, 100)));
    this.#hasLine = true;
  }

  #clear(): void {
    if (this.#hasLine) this.#out.write("\r\u001b[2K");
    this.#hasLine = false;
  }
}

interface StepEvent {
  id: string;
  stepCallId?: string;
}

function keyOf({ id, stepCallId }: StepEvent): string {
  return stepCallId ?? id;
}

/** The id of a sleep says what it follows, which the lines above it say, too. */
function name(id: string): string {
  return oneLine(id.replace(/(^|\.)sleep_.*$/, "$1sleep"), 80);
}

function shown(value: unknown): string {
  return value === undefined ? "" : oneLine(JSON.stringify(value), 200);
}

function messageOf(error: unknown): string {
  if (typeof error === "string") return error;
  const { message } = Object(error) as { message?: unknown };
  return typeof message === "string" ? message : (JSON.stringify(error) ?? "The step failed.");
}

function duration(ms: number): string {
  if (ms < 1000) return `${ms} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
