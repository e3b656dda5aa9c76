import assert from "node:assert/strict";
import { Agent } from "@selvedge/core/agent";
import { AgentError } from "@selvedge/core/errors";
import { scriptedModel } from "@selvedge/testing";

const broken = scriptedModel(() => ({ error: new Error("out of order") }), { modelId: "broken" });
const spare = scriptedModel(["Here I am."], { modelId: "spare" });

const agent = new Agent({
  name: "steady",
  instructions: "Answer.",
  // Tried in order, each with retries of its own. Nothing is retried once an answer has begun.
  model: [
    { model: broken, maxRetries: 1 },
    { model: spare, maxRetries: 0 },
  ],
});

const { text } = await agent.generate("Hello?");
console.log(text);
assert.equal(text, "Here I am.");

// A model may also depend on who asks.
const byTier = new Agent({
  name: "by-tier",
  instructions: "Answer.",
  model: ({ requestContext }) => (requestContext.get("tier") === "pro" ? spare : broken),
});
await assert.rejects(byTier.generate("Hello?", { maxRetries: 0 }), (error) =>
  AgentError.is(error, "model-failed"),
);
