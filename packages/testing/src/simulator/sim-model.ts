import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import {
  scriptedModel,
  type ScriptedCall,
  type ScriptedModel,
  type ScriptedReply,
} from "../scripted-model.ts";
import { checkPrompt, TOKEN } from "./check-prompt.ts";
import type { Random } from "./random.ts";
import type { SimProcess } from "./sim-process.ts";
import { oddValue, TOOL_NAMES } from "./sim-tools.ts";

/** The call that a model makes: what it was offered, and the id that the call gets. */
export type NextCall = (
  offered: readonly string[],
  toolCallId: string,
  token: string,
) => { toolName: string; input: object };

/** A model that says anything, takes its time, fails now and then, and looks closely at every prompt it gets. */
export function simModel(process: SimProcess, next?: NextCall): ScriptedModel {
  const { world } = process;
  const { random } = world;
  const nextCall: NextCall =
    next ?? ((_offered, _id, token) => ({ toolName: random.pick(TOOL_NAMES), input: { about: token } }));
  const scripted = scriptedModel(async (call) => {
    const wrong = checkPrompt(call.prompt);
    if (wrong) {
      world.note(() => `prompt: ${JSON.stringify(call.prompt)}`);
      world.violate(wrong.invariant, `${process.name}: ${wrong.message}`);
    }
    await process.work(
      "model thinks",
      random.chance(0.05) ? random.between(1_000, 20_000) : random.between(0, 20),
    );
    return reply(call);
  });

  function reply({ prompt, tools }: ScriptedCall): ScriptedReply {
    const token = JSON.stringify(prompt).match(TOKEN)?.at(-1) ?? "nothing";
    const kind = random.weighted([
      [50, "text"],
      [40, "calls"],
      [4, "refuses"],
      [3, "is down"],
      [3, "breaks off"],
    ]);
    if (kind === "refuses")
      return { error: Object.assign(new Error("The model refuses."), { statusCode: 400 }) };
    if (kind === "is down")
      return { error: Object.assign(new Error("The model is down."), { statusCode: 503 }) };
    if (kind === "breaks off")
      return {
        text: ["I was", " about to"],
        errorAfter: random.between(2, 3),
        error: new Error("The line is dead."),
      };
    if (kind === "text") return { text: ["Re ", token, "."].slice(0, random.between(1, 3)) };
    const count = random.weighted([
      [6, 1],
      [3, 2],
      [1, 3],
    ]);
    const offered = (tools ?? []).map(({ name }) => name);
    const toolCalls = Array.from({ length: count }, () => {
      const toolCallId = `call-${world.nextNumber()}`;
      return { ...nextCall(offered, toolCallId, token), toolCallId };
    });
    return { ...(random.chance(0.3) && { text: `Looking at ${token}` }), toolCalls };
  }

  return {
    ...scripted,
    async doStream(options) {
      const result = await scripted.doStream(options);
      return { ...result, stream: slowly(process, result.stream) };
    },
  };
}

/** Some providers put into their metadata whatever they have. */
function withOddMetadata(part: LanguageModelV4StreamPart, random: Random): LanguageModelV4StreamPart {
  if (part.type !== "finish" && part.type !== "text-end" && part.type !== "tool-call") return part;
  if (!random.chance(0.05)) return part;
  return { ...part, providerMetadata: { scripted: { odd: oddValue(random.between(0, 3)) as never } } };
}

/** The same stream with pauses in it, so that a crash finds half an answer. */
function slowly(
  process: SimProcess,
  stream: ReadableStream<LanguageModelV4StreamPart>,
): ReadableStream<LanguageModelV4StreamPart> {
  const { random } = process.world;
  const reader = stream.getReader();
  return new ReadableStream(
    {
      async pull(controller) {
        if (random.chance(0.3)) await process.work("model speaks", random.between(0, 12));
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(withOddMetadata(value, random));
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}
