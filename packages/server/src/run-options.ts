import { AgentError, RequestContext } from "@selvedge/core";
import type { AgentExecutionOptions } from "@selvedge/core/agent";
import { OPTION_NAMES, OPTION_RULES } from "@selvedge/core/guards";
import { RESOURCE_ID_KEY, THREAD_ID_KEY } from "@selvedge/core/request-context";
import type { RunOptions } from "@selvedge/protocol/routes";
import { admitContents } from "./admit-contents.ts";
import type { AnyAgent } from "./app.ts";
import type { Principal } from "./caller.ts";
import { checkCallerSchema } from "./check-caller-schema.ts";
import { checkForeignSchema } from "./check-foreign-schema.ts";
import type { Call } from "./handler.ts";

/** The options a request may set, and those among them that change the agent's instructions or model call. */
const NAMES = OPTION_NAMES.filter((name) => OPTION_RULES[name].wire !== "closed") as (keyof RunOptions)[];
const GRANTED = NAMES.filter((name) => OPTION_RULES[name].wire === "granted");

/** Each step is a model call that costs money. */
const MODEST_STEPS = 25;

/** Request context keys that identify a run's owner. */
const RESERVED: ReadonlySet<string> = new Set([RESOURCE_ID_KEY, THREAD_ID_KEY]);

type ToolOwner = Pick<AnyAgent, "listTools">;

/** Converts the options of a request to those of a run. */
export async function toRunOptions(
  options: RunOptions,
  call: Pick<Call, "app" | "caller">,
  agent: ToolOwner,
): Promise<AgentExecutionOptions> {
  const { caller } = call;
  if (!caller.has("run-options")) await checkModest(options, caller, agent);
  for (const [what, schema] of schemasOf(options)) checkCallerSchema(what, schema);
  const { requestContext: _, context, ...rest } = pick(options);
  return {
    ...rest,
    ...(context && { context: await admitContents(call, context) }),
    requestContext: toRequestContext(options.requestContext, caller),
  } as AgentExecutionOptions;
}

export function toRequestContext(
  said: Record<string, unknown> | undefined,
  caller: Principal,
): RequestContext {
  const entries = Object.entries({ ...said, ...caller.requestContext });
  return new RequestContext(entries.filter(([key]) => !RESERVED.has(key)));
}

/** The JSON Schemas in a request, with what they belong to. */
function schemasOf({ output, structuredOutput, clientTools }: RunOptions): [string, unknown][] {
  const ofTools = Object.entries(clientTools ?? {}).flatMap(
    ([name, { inputSchema, parameters, outputSchema }]) =>
      [inputSchema, parameters, outputSchema].map((schema): [string, unknown] => [
        `the tool "${name}"`,
        schema,
      ]),
  );
  const all: [string, unknown][] = [
    ["the output", output],
    ["the structured output", structuredOutput?.schema],
    ...ofTools,
  ];
  return all.filter(([, schema]) => schema !== undefined);
}

async function checkModest(options: RunOptions, caller: Principal, agent: ToolOwner): Promise<void> {
  for (const name of GRANTED)
    if (options[name] !== undefined) caller.require("run-options", `The option "${name}"`);
  if (options.requireToolApproval === false) caller.require("run-options", "requireToolApproval: false");
  if ((options.maxSteps ?? 0) > MODEST_STEPS) caller.require("run-options", `maxSteps above ${MODEST_STEPS}`);
  for (const schema of [options.output, options.structuredOutput?.schema, options.clientTools])
    checkForeignSchema(schema);
  const names = Object.keys(options.clientTools ?? {});
  if (names.length === 0) return;
  const own = await agent.listTools({ requestContext: toRequestContext(undefined, caller) });
  const taken = names.find((name) => Object.hasOwn(own, name));
  if (taken !== undefined)
    throw new AgentError("forbidden", `The agent already has a tool "${taken}". Give yours another name.`);
}

function pick(options: RunOptions): RunOptions {
  return Object.fromEntries(
    NAMES.filter((name) => options[name] !== undefined).map((name) => [name, options[name]]),
  );
}
