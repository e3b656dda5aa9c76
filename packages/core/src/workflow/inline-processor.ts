import type { AgentChunk } from "@selvedge/protocol";
import { isPromise } from "../is-promise.ts";
import type { MessageList } from "../message/message-list.ts";
import { applyMessages, applyOverrides, listArgs } from "../processor/apply-messages.ts";
import type {
  ProcessInputResult,
  ProcessInputStepArgs,
  ProcessOutputStreamArgs,
  Processor,
  ProcessToolResultArgs,
} from "../processor/processor.ts";
import type { ProcessorPhase, ProcessorStepData } from "../processor/processor-step-schema.ts";
import type { InlineFrame } from "./inline-frame.ts";

type Data = ProcessorStepData;
type Awaitable<Value> = Value | Promise<Value>;

export const HOOK_OF: {
  readonly [Phase in ProcessorPhase]: `process${Capitalize<Phase>}`;
} = {
  input: "processInput",
  inputStep: "processInputStep",
  outputStream: "processOutputStream",
  outputResult: "processOutputResult",
  outputStep: "processOutputStep",
  toolResult: "processToolResult",
};

/** Calls `next` at once if the value is there. */
export function andThen<Value, Result>(
  value: Awaitable<Value>,
  next: (value: Value) => Awaitable<Result>,
): Awaitable<Result> {
  return isPromise(value) ? value.then(next) : next(value);
}

/** What a processor makes of the data of its phase. Asynchronous only if the processor is. */
export function applyProcessor(processor: Processor, data: Data, frame: InlineFrame): Awaitable<Data> {
  if (typeof processor[HOOK_OF[data.phase]] !== "function") return data;
  switch (data.phase) {
    case "outputStream":
      return onPart(processor, data, frame);
    case "toolResult":
      return andThen(
        processor.processToolResult!({ ...frame.contextOf(processor), ...data } as ProcessToolResultArgs &
          Data),
        (changed) => (changed ? { ...data, result: changed.result } : data),
      );
    case "inputStep":
      return onList(processor, data, frame, (args, list) =>
        andThen(processor.processInputStep!(args as ProcessInputStepArgs), (result) =>
          applyOverrides(list, result),
        ),
      );
    default: {
      const hook = HOOK_OF[data.phase] as "processInput" | "processOutputStep" | "processOutputResult";
      const source = data.phase === "input" ? "input" : "response";
      return onList(processor, data, frame, (args, list) =>
        andThen(processor[hook]!(args as never) as Awaitable<ProcessInputResult>, (result) => {
          applyMessages(list, result, source);
          return {};
        }),
      );
    }
  }
}

function onPart(processor: Processor, data: Data, frame: InlineFrame): Awaitable<Data> {
  const { part } = data;
  if (part === null || part === undefined) return data;
  if (Array.isArray(part)) return onParts(processor, data, part, frame);
  return andThen(stream(processor, part, frame), (result) =>
    result === undefined || result === part ? data : { ...data, part: result },
  );
}

async function onParts(
  processor: Processor,
  data: Data,
  parts: AgentChunk[],
  frame: InlineFrame,
): Promise<Data> {
  const passed: AgentChunk[] = [];
  for (const part of parts) {
    const result = await stream(processor, part, frame);
    if (result !== null) passed.push(...(Array.isArray(result) ? result : [result ?? part]));
  }
  return { ...data, part: passed };
}

function stream(
  processor: Processor,
  part: AgentChunk,
  frame: InlineFrame,
): Awaitable<AgentChunk | AgentChunk[] | null | undefined> {
  if (part.type.startsWith("data-") && !processor.processDataParts) return undefined;
  const args = frame.contextOf(processor) as ProcessOutputStreamArgs;
  args.part = part;
  return processor.processOutputStream!(args) as Awaitable<AgentChunk | AgentChunk[] | null | undefined>;
}

/** The list of the run follows what steps return, so that every processor finds it as it expects. */
function onList(
  processor: Processor,
  data: Data,
  frame: InlineFrame,
  call: (args: object, list: MessageList) => Awaitable<object>,
): Awaitable<Data> {
  const list = data.messageList!;
  if (data.messages !== frame.listed && data.messages)
    list.replace(data.messages, data.phase.startsWith("input") ? "input" : "response");
  const args = {
    ...frame.contextOf(processor),
    ...data,
    state: frame.contextOf(processor).state,
    ...listArgs(list),
  };
  return andThen(call(args, list), (more) => {
    list.invalidate();
    const { messages, systemMessages } = listArgs(list);
    frame.listed = messages;
    return { ...data, ...more, messages, systemMessages };
  });
}
