import assert from "node:assert/strict";
import { Agent } from "@selvedge/core/agent";
import { AgentError } from "@selvedge/core/errors";
import { scriptedModel } from "@selvedge/testing";

const broken = scriptedModel(() => ({ error: new Error("out of order") }), { modelId: "broken" });
const spare = scriptedModel(["Here I am."], { modelId: "spare" });

const agent = new Agent({
  name: "steady",
  instructions: "Answer.",
  // Tried in order, each with its own retries. Nothing is retried once the reply has started.
  model: [
    { model: broken, maxRetries: 1 },
    { model: spare, maxRetries: 0 },
  ],
});

const { text } = await agent.generate("Hello?");
console.log(text);
assert.equal(text, "Here I am.");

// The model can also depend on the request.
const byTier = new Agent({
  name: "by-tier",
  instructions: "Answer.",
  model: ({ requestContext }) => (requestContext.get("tier") === "pro" ? spare : broken),
});
await assert.rejects(byTier.generate("Hello?", { maxRetries: 0 }), (error) =>
  AgentError.is(error, "model-failed"),
);
