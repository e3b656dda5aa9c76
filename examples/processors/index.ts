import assert from "node:assert/strict";
import { Agent } from "@selvedge/core/agent";
import type { Processor } from "@selvedge/core/processors";
import { scriptedModel } from "@selvedge/testing";

/** Stops a run before any model is called. */
const noSecrets: Processor = {
  id: "no-secrets",
  processInput({ messages, abort }) {
    if (JSON.stringify(messages).includes("password")) abort("Please do not send passwords.");
    return messages;
  },
};

/** Changes what is streamed, chunk by chunk. */
const polite: Processor = {
  id: "polite",
  processOutputStream({ part }) {
    if (part.type !== "text-delta") return part;
    return { ...part, payload: { ...part.payload, text: part.payload.text.replaceAll("darn", "d***") } };
  },
};

/** Asks the model again when an answer is not good enough. */
const short: Processor = {
  id: "short",
  processOutputStep({ text, abort }) {
    if (text.length > 40) abort("The answer is longer than 40 characters.", { retry: true });
  },
};

const agent = new Agent({
  name: "guarded",
  instructions: "Be brief.",
  model: scriptedModel([
    "That is a darn good question.",
    "Well, there is quite a lot that could be said about it.",
    "Yes.",
  ]),
  inputProcessors: [noSecrets],
  outputProcessors: [polite, short],
  maxProcessorRetries: 1,
});

const stopped = await agent.generate("My password is hunter2.");
console.log(stopped.tripwire?.reason);
assert.equal(stopped.tripwire?.processorId, "no-secrets");

assert.equal((await agent.generate("Is it good?")).text, "That is a d*** good question.");
assert.equal((await agent.generate("Is it?")).text, "Yes.");
