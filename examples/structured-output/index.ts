import assert from "node:assert/strict";
import { Agent } from "@selvedge/core/agent";
import { scriptedModel } from "@selvedge/testing";
import { z } from "zod";

const recipe = z.object({ title: z.string(), minutes: z.number().int(), steps: z.array(z.string()) });

const agent = new Agent({
  name: "cook",
  instructions: "Write recipes.",
  model: scriptedModel([
    { object: { title: "Porridge", minutes: 10, steps: ["Boil oats.", "Stir."] } },
    { text: ['{"title": "Toast", ', '"minutes": 3, "steps": ', '["Toast bread."]}'] },
    "I cannot cook.",
  ]),
});

// The type of `object` is inferred from the schema.
const { object } = await agent.generate("Something warm.", { structuredOutput: { schema: recipe } });
const total: number = object.minutes;
console.log(object.title, total);
assert.deepEqual(object.steps, ["Boil oats.", "Stir."]);

// Read the partial object while it streams.
const run = await agent.stream("Something quick.", { structuredOutput: { schema: recipe } });
let seen = 0;
for await (const partial of run.objectStream) {
  console.log(partial);
  seen++;
}
assert.ok(seen > 1);
assert.equal((await run.object).title, "Toast");

// An answer that does not match is an error ("structured-output-invalid") or your fallback value.
const fallback = await agent.generate("Anything.", {
  structuredOutput: {
    schema: recipe,
    errorStrategy: "fallback",
    fallbackValue: { title: "Water", minutes: 0, steps: [] },
  },
});
assert.equal(fallback.object.title, "Water");
