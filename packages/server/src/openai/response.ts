import type { AgentChunk } from "@selvedge/protocol";
import { errorObject } from "./chat-completion.ts";
import { RunCollector, type Steps } from "./run-collector.ts";

type Json = Record<string, unknown>;

export interface ResponseOptions {
  /** The run's id. */
  id: string;
  model: string;
  created: number;
  conversation: string | undefined;
  previous: string | undefined;
  /** Whether it can be continued by its id. */
  store: boolean;
  /** Called with the whole output when the run ends without failing, and again when the result is known. */
  onOutput?: ((items: readonly Json[]) => void) | undefined;
}

/** A run as an OpenAI response, whole or as events. */
export class ResponseBuilder {
  readonly #run: RunCollector;
  readonly #base: Json;
  readonly #id: string;
  readonly #onOutput: ((items: readonly Json[]) => void) | undefined;
  #sequence = 0;
  #begun = false;
  #writing = false;

  constructor(options: ResponseOptions, run: RunCollector = new RunCollector()) {
    const { id, model, created, conversation, previous, store } = options;
    this.#run = run;
    this.#id = id;
    this.#onOutput = options.onOutput;
    this.#base = {
      id: `resp_${id}`,
      object: "response",
      created_at: created,
      model,
      error: null,
      incomplete_details: null,
      instructions: null,
      metadata: {},
      parallel_tool_calls: true,
      previous_response_id: previous ?? null,
      store,
      temperature: null,
      tool_choice: "auto",
      tools: [],
      top_p: null,
      ...(conversation !== undefined && { conversation: { id: conversation } }),
    };
  }

  get failure(): unknown {
    return this.#run.failure;
  }

  add(chunk: AgentChunk): void {
    this.#run.add(chunk);
    if (this.#run.isOver && this.failure === undefined) this.#onOutput?.(this.#output());
  }

  settle(steps: Steps): void {
    this.#run.settle(steps);
    this.#onOutput?.(this.#output());
  }

  frames(chunk: AgentChunk): string {
    this.add(chunk);
    let text = "";
    if (!this.#begun) {
      this.#begun = true;
      const response = { ...this.#base, status: "in_progress", output: [], output_text: "" };
      text +=
        this.#event("response.created", { response }) + this.#event("response.in_progress", { response });
    }
    if (chunk.type === "text-delta") {
      if (!this.#writing) text += this.#beginMessage();
      text += this.#event("response.output_text.delta", {
        ...this.#place,
        delta: chunk.payload.text,
        logprobs: [],
      });
    }
    return this.#run.isOver ? text + this.#end() : text;
  }

  whole(): Json {
    const { text, usage, failure, reason } = this.#run;
    const {
      inputTokens = 0,
      outputTokens = 0,
      totalTokens,
      reasoningTokens = 0,
      cachedInputTokens = 0,
    } = usage ?? {};
    const status = failure === undefined ? (reason === "length" ? "incomplete" : "completed") : "failed";
    return {
      ...this.#base,
      status,
      ...(status === "incomplete" && { incomplete_details: { reason: "max_output_tokens" } }),
      ...(failure !== undefined && {
        error: { code: "server_error", message: errorObject(failure)["message"] },
      }),
      output: this.#output(),
      output_text: text,
      usage: {
        input_tokens: inputTokens,
        input_tokens_details: { cached_tokens: cachedInputTokens },
        output_tokens: outputTokens,
        output_tokens_details: { reasoning_tokens: reasoningTokens },
        total_tokens: totalTokens ?? inputTokens + outputTokens,
      },
    };
  }

  get #messageId(): string {
    return `msg_${this.#id}`;
  }

  #output(): Json[] {
    const calls = this.#run.calls.map(({ toolCallId, toolName, args }) => ({
      id: `fc_${this.#id}_${toolCallId}`,
      type: "function_call",
      call_id: toolCallId,
      name: toolName,
      arguments: JSON.stringify(args ?? {}),
      status: "completed",
    }));
    return this.#run.text === "" && calls.length > 0 ? calls : [this.#message("completed"), ...calls];
  }

  #message(status: string): Json {
    const content = status === "completed" ? [this.#part(this.#run.text)] : [];
    return { id: this.#messageId, type: "message", role: "assistant", status, content };
  }

  #part(text: string): Json {
    return { type: "output_text", text, annotations: [], logprobs: [] };
  }

  get #place(): Json {
    return { item_id: this.#messageId, output_index: 0, content_index: 0 };
  }

  #beginMessage(): string {
    this.#writing = true;
    return (
      this.#event("response.output_item.added", { output_index: 0, item: this.#message("in_progress") }) +
      this.#event("response.content_part.added", { ...this.#place, part: this.#part("") })
    );
  }

  #end(): string {
    let text = "";
    if (this.#writing) {
      const whole = this.#run.text;
      text +=
        this.#event("response.output_text.done", { ...this.#place, text: whole, logprobs: [] }) +
        this.#event("response.content_part.done", { ...this.#place, part: this.#part(whole) }) +
        this.#event("response.output_item.done", { output_index: 0, item: this.#message("completed") });
    }
    for (const [index, item] of this.#output().entries()) {
      if (item["type"] !== "function_call") continue;
      const place = { output_index: index };
      text +=
        this.#event("response.output_item.added", {
          ...place,
          item: { ...item, arguments: "", status: "in_progress" },
        }) +
        this.#event("response.function_call_arguments.done", {
          ...place,
          item_id: item["id"],
          name: item["name"],
          arguments: item["arguments"],
        }) +
        this.#event("response.output_item.done", { ...place, item });
    }
    const response = this.whole();
    return text + this.#event(`response.${String(response["status"])}`, { response });
  }

  #event(type: string, fields: Json): string {
    return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: this.#sequence++, ...fields })}\n\n`;
  }
}
