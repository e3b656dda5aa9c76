// Judges observational memory: how many planted facts the model still sees after a long conversation, and at what cost.
// The judge is code. Observer and reflector are scripted, unless you name a model.
//   npm run judge:memory                                  500 turns, 200 facts, three kinds of observers, both scopes
//   npm run judge:memory -- --turns 100 --facts 40
//   npm run judge:memory -- --manner faulty --scope resource
//   npm run judge:memory -- --model openai/gpt-5-mini     a real observer and reflector
import { parseArgs } from "node:util";
import { FACT_KINDS, makeConversation } from "./judge-memory/conversation.ts";
import { type Measured, measure } from "./judge-memory/measure.ts";
import { type Manner, MANNERS, scriptedRoles } from "./judge-memory/roles.ts";

const { values } = parseArgs({
  options: {
    turns: { type: "string", default: "500" },
    facts: { type: "string", default: "200" },
    manner: { type: "string", multiple: true, default: [...MANNERS] },
    scope: { type: "string", multiple: true, default: ["thread", "resource"] },
    "message-tokens": { type: "string", default: "6000" },
    "observation-tokens": { type: "string", default: "10000" },
    model: { type: "string" },
  },
});
const conversation = makeConversation(Number(values.turns), Number(values.facts));
const failures: string[] = [];

for (const scope of values.scope) {
  for (const manner of values.model ? [values.model] : values.manner) {
    const roles = values.model
      ? { observer: values.model, reflector: values.model }
      : scriptedRoles(manner as Manner);
    const name = `${manner}, ${scope} scope`;
    const begun = performance.now();
    const result = await measure({
      conversation,
      ...roles,
      scope: scope as "thread",
      messageTokens: Number(values["message-tokens"]),
      observationTokens: Number(values["observation-tokens"]),
      onTurn: (turn) => {
        if (process.stderr.isTTY) process.stderr.write(`\r${name}: turn ${turn + 1}`);
      },
    });
    if (process.stderr.isTTY) process.stderr.write("\r");
    report(name, result, performance.now() - begun);
    if (manner === "careful") checkAims(name, result);
  }
}
for (const failure of failures) console.error(`not met: ${failure}`);
process.exit(failures.length > 0 ? 1 : 0);

function report(name: string, result: Measured, ms: number): void {
  const { facts, inPrompt, reachable, stale, worstStale, byKind } = result;
  const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;
  console.log(`${name} (${conversation.turns.length} turns, ${Math.round(ms / 1000)} s)`);
  console.log(`  facts in the prompt      ${inPrompt} of ${facts} (${percent(inPrompt / facts)})`);
  console.log(`  facts reachable          ${reachable} of ${facts} (${percent(reachable / facts)})`);
  console.log(`  stale, shown as current  ${stale} at the end, ${worstStale} in the worst turn`);
  console.log(`  tokens per turn          ${result.meanPrompt} on average, ${result.largestPrompt} at most`);
  console.log(`  of the full history      ${percent(result.promptShare)}`);
  console.log(`  held by a prompt cache   ${percent(result.cachedShare)}`);
  console.log(
    `  observer and reflector   ${result.roleTokens.toFixed(2)} tokens read per token said, ${result.observations} + ${result.reflections} calls`,
  );
  console.log(`  warnings                 ${result.warnings.length}`);
  for (const kind of FACT_KINDS) {
    const one = byKind[kind];
    console.log(
      `    ${kind.padEnd(17)} ${one.inPrompt}/${one.facts} in the prompt, ${one.reachable}/${one.facts} reachable`,
    );
  }
  console.log("");
}

function checkAims(name: string, result: Measured): void {
  const { facts, inPrompt, reachable, stale, worstStale, promptShare } = result;
  const require = (isMet: boolean, aim: string): void => {
    if (!isMet) failures.push(`${name}: ${aim}`);
  };
  require(reachable === facts, `all facts reachable, ${facts - reachable} are not`);
  require(inPrompt >= 0.95 * facts, `95 % of the facts in the prompt, ${inPrompt} of ${facts} are`);
  require(stale + worstStale ===
    0, `no stale fact, ${stale} at the end and ${worstStale} in the worst turn are`);
  require(promptShare <
    0.3, `prompts below 30 % of the history, they are ${(promptShare * 100).toFixed(1)} %`);
}
