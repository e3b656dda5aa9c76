import type { ToolCallPayload } from "@selvedge/protocol";
import { AgentError } from "../errors.ts";
import { sleep } from "../system.ts";
import type { ToolWriter } from "../tool/tool.ts";
import { agentChunk } from "./model-part-chunk.ts";
import type { Run } from "./run.ts";

/** A processor that rejects a tool's output rejects the step, whether or not the tool awaits its writes. */
export class RunToolWriter implements ToolWriter {
  readonly #run: Run;
  readonly #call: ToolCallPayload;
  readonly #objections: unknown[];
  #writes = 0;

  constructor(run: Run, call: ToolCallPayload, objections: unknown[]) {
    this.#run = run;
    this.#call = call;
    this.#objections = objections;
  }

  readonly write = (value: unknown): Promise<void> =>
    this.#written(() => {
      const { toolCallId, toolName } = this.#call;
      const output = this.#run.stream.limitWritten(value, toolName);
      return this.#run.stream.emit(
        agentChunk("tool-output", this.#run.spec.runId, { toolCallId, toolName, output }),
      );
    });

  readonly custom: ToolWriter["custom"] = (chunk) => this.#written(() => this.#run.stream.custom(chunk));

  #written(emit: () => unknown): Promise<void> {
    const written = this.#write(emit);
    // Not every tool awaits its writes.
    written.catch(() => {});
    return written;
  }

  async #write(emit: () => unknown): Promise<void> {
    let full: unknown;
    try {
      await emit();
    } catch (thrown) {
      if (!this.#objections.includes(thrown)) this.#objections.push(thrown);
      if (AgentError.is(thrown, "limit-exceeded")) full = thrown;
    }
    // A tool that only writes would keep timers from running, including its own time limit.
    if (full !== undefined || ++this.#writes % WRITES_PER_TURN === 0) await sleep(this.#run.spec.system, 0);
    if (full !== undefined) throw full;
  }
}

const WRITES_PER_TURN = 64;
