import type { ClientWorkflow, WorkflowStream } from "@selvedge/client-js";
import { AgentError } from "@selvedge/core/errors";
import { type JSONValue, WORKFLOW_RUN_STATUSES, type WorkflowRunStatus } from "@selvedge/protocol";
import type { WireWorkflowState } from "@selvedge/protocol/routes";
import { oneLine, printable } from "./chat/printable.ts";
import { wholeNumber } from "./index-command.ts";
import { createStyle, type Style, wantsColor } from "./style.ts";
import { openWorkflows, type OpenWorkflows, type WorkflowPlace } from "./workflow/open-workflows.ts";
import { exampleOf } from "./workflow/example-of.ts";
import { shellWord } from "./workflow/shell-word.ts";
import { RunPrinter } from "./workflow/run-printer.ts";

export interface WorkflowFlags extends WorkflowPlace {
  input?: string;
  data?: string;
  step?: string;
  label?: string;
  run?: string;
  status?: string;
  limit: string;
  json?: boolean;
  color: boolean;
}

interface Command extends OpenWorkflows {
  flags: WorkflowFlags;
  style: Style;
}

type Action = (command: Command, ...args: string[]) => Promise<number>;

/** The actions, with the names of their arguments. */
const ACTIONS: Record<string, { args: readonly string[]; optional?: number; run: Action }> = {
  list: { args: [], run: list },
  run: { args: ["workflow"], run: start },
  runs: { args: ["workflow"], optional: 1, run: runs },
  resume: { args: ["workflow", "run"], run: resume },
  cancel: { args: ["workflow", "run"], run: cancel },
};

const WAITS = 3;
const FIELDS = ["result", "error", "steps"];

/** `selvedge workflow <action>`. Returns the exit code: 3 if a run waits for a person. */
export async function runWorkflowCommand(args: readonly string[], flags: WorkflowFlags): Promise<number> {
  const [name = "", ...rest] = args;
  const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined;
  if (!action)
    throw new AgentError(
      "invalid-argument",
      `There is no action "${oneLine(name)}". Use ${Object.keys(ACTIONS).join(", ")}.`,
    );
  const required = action.args.length - (action.optional ?? 0);
  if (rest.length < required || rest.length > action.args.length) {
    const args = action.args.map((arg, index) => (index < required ? `<${arg}>` : `[${arg}]`));
    throw new AgentError("invalid-argument", `Write: selvedge workflow ${[name, ...args].join(" ")}`);
  }
  // Wrong JSON is reported before anything is loaded.
  parse("--input", flags.input);
  parse("--data", flags.data);
  const open = await openWorkflows(flags);
  const style = createStyle(flags.color && wantsColor(process.stdout, process.env));
  try {
    return await action.run({ ...open, flags, style }, ...rest);
  } finally {
    await open.close();
  }
}

async function list({ client, flags, style }: Command): Promise<number> {
  const [workflows, counts] = await Promise.all([client.listWorkflows(), client.listWorkflowRunCounts()]);
  const names = Object.keys(workflows);
  if (names.length === 0 && !flags.json)
    console.error("There is no workflow here. Register one: new Mastra({ workflows: { … } }).");
  for (const key of names) {
    const { id, description } = workflows[key]!;
    const { running = 0, suspended = 0 } = counts[key] ?? {};
    if (flags.json) console.log(JSON.stringify({ name: key, id, description, running, suspended }));
    else {
      const busy = [running > 0 ? `${running} running` : "", suspended > 0 ? `${suspended} waiting` : ""];
      const parts = [oneLine(key), style.dim(busy.filter((text) => text !== "").join(", "))];
      console.log(parts.filter((text) => text !== "").join("  "));
      if (description) console.log(`  ${style.dim(oneLine(description))}`);
    }
  }
  return 0;
}

async function start(command: Command, workflowId = ""): Promise<number> {
  const { client, flags } = command;
  const workflow = client.getWorkflow(workflowId);
  const inputData = parse("--input", flags.input);
  const run = await workflow.createRun({
    ...(flags.run !== undefined && { runId: flags.run }),
    ...(flags.resource !== undefined && { resourceId: flags.resource }),
  });
  const stream = await run
    .stream({ ...(inputData !== undefined && { inputData }) })
    .catch((error: unknown) => withExample(command, workflow, error));
  return follow(command, workflow, stream);
}

/** Input that does not fit: says what would. */
async function withExample({ where }: Command, workflow: ClientWorkflow, error: unknown): Promise<never> {
  if (!AgentError.is(error, "invalid-argument")) throw error;
  const { inputSchema } = await workflow.details();
  throw new AgentError(
    "invalid-argument",
    `${error.message}\nFor example: selvedge workflow run ${shellWord(oneLine(workflow.workflowId))} --input ${oneLine(exampleOf(inputSchema), 500)}${where}`,
  );
}

/** The latest runs of a workflow, or of all. */
async function runs({ client, flags, style }: Command, workflowId?: string): Promise<number> {
  const query = {
    perPage: wholeNumber("--limit", flags.limit, 1),
    ...(flags.status !== undefined && { status: toStatus(flags.status) }),
    ...(flags.resource !== undefined && { resourceId: flags.resource }),
  };
  const names = workflowId === undefined ? Object.keys(await client.listWorkflows()) : [workflowId];
  const pages = await Promise.all(
    names.map(async (name) => {
      const page = await client.getWorkflow(name).runs(query);
      return { total: page.total, runs: page.runs.map((run) => ({ name, run })) };
    }),
  );
  const total = pages.reduce((sum, page) => sum + page.total, 0);
  const found = pages
    .flatMap((page) => page.runs)
    .sort((a, b) => b.run.createdAt.localeCompare(a.run.createdAt))
    .slice(0, query.perPage);
  for (const { name, run } of found) {
    if (flags.json) console.log(JSON.stringify(run));
    else {
      const status = paint(style, run.status)(run.status.padEnd(9));
      const parts = [oneLine(run.runId), status, style.dim(run.createdAt)];
      console.log([...(workflowId === undefined ? [oneLine(name)] : []), ...parts].join("  "));
    }
  }
  if (!flags.json && total === 0)
    console.error(
      flags.status === undefined
        ? `No runs yet. Start one with: selvedge workflow run ${workflowId === undefined ? "<workflow>" : shellWord(oneLine(workflowId))}`
        : `No run is ${flags.status}.`,
    );
  if (!flags.json && total > found.length)
    console.error(`${total - found.length} more. Show them with --limit ${Math.min(total, 1000)}.`);
  return 0;
}

async function resume(command: Command, workflowId = "", runId = ""): Promise<number> {
  const { client, flags } = command;
  const workflow = client.getWorkflow(workflowId);
  const step = flags.step ?? (flags.label === undefined ? await onlyStep(workflow, runId) : undefined);
  const resumeData = parse("--data", flags.data);
  const stream = await workflow.getRun(runId).resumeStream({
    ...(step !== undefined && { step }),
    ...(flags.label !== undefined && { label: flags.label }),
    ...(resumeData !== undefined && { resumeData }),
  });
  return follow(command, workflow, stream);
}

async function cancel({ client }: Command, workflowId = "", runId = ""): Promise<number> {
  const workflow = client.getWorkflow(workflowId);
  const { status } = await workflow.runById(runId, { fields: ["result"] });
  if (isOver(status)) {
    console.error(`Run ${oneLine(runId)} has already ended: ${status}.`);
    return status === "canceled" ? 0 : 1;
  }
  const { message } = await workflow.getRun(runId).cancel();
  console.log(printable(message));
  return 0;
}

/** Shows a run until it ends or waits. The result goes to standard output, the rest to standard error. */
async function follow(command: Command, workflow: ClientWorkflow, stream: WorkflowStream): Promise<number> {
  const { flags, isRemote } = command;
  const { runId } = stream;
  const style = createStyle(flags.color && wantsColor(process.stderr, process.env));
  const printer = new RunPrinter(process.stderr, style);
  const leave = (): void => {
    stream.leave();
    printer.close();
    console.error(
      isRemote
        ? `\nThe run ${runId} continues on the server.`
        : `\nThe run ${runId} is stored. It continues when the project is served.`,
    );
  };
  process.once("SIGINT", leave);
  printer.say(`Run ${oneLine(runId)}`);
  let left = true;
  try {
    await stream.processDataStream({
      onChunk: (chunk) => {
        printer.take(chunk);
        if (chunk.type === "workflow-finish" || chunk.type === "workflow-paused") left = false;
      },
      onConnection: (state) =>
        printer.say(state === "live" ? "Reconnected." : "The connection broke. Reconnecting…"),
    });
  } finally {
    printer.close();
    process.off("SIGINT", leave);
  }
  if (left) return 130;
  return report(command, workflow, await workflow.runById(runId, { fields: FIELDS }));
}

async function report(
  { flags, where }: Command,
  workflow: ClientWorkflow,
  run: WireWorkflowState,
): Promise<number> {
  const { status, runId, result, error, steps = {} } = run;
  if (flags.json) console.log(JSON.stringify({ runId, status, result, error, steps }));
  else if (status === "success" && result !== undefined) console.log(JSON.stringify(result, null, 2));
  switch (status) {
    case "success":
      return 0;
    case "suspended":
    case "paused": {
      const waiting = suspendedSteps(steps);
      const { allSteps } = await workflow.details();
      const resume = `  selvedge workflow resume ${shellWord(oneLine(workflow.workflowId))} ${shellWord(oneLine(runId))}`;
      const ways = waiting.map((id) => {
        const data = oneLine(exampleOf(allSteps[id]?.resumeSchema), 500);
        return `${resume} --step ${shellWord(oneLine(id))} --data ${data}${where}`;
      });
      const what = waiting.length > 1 ? `${waiting.length} steps wait` : "The run waits";
      console.error(
        [`${what}. Continue with:`, ...(ways.length > 0 ? ways : [`${resume}${where}`])].join("\n"),
      );
      return WAITS;
    }
    default: {
      const { message } = Object(error) as { message?: unknown };
      const why = typeof message === "string" ? `: ${printable(message)}` : ".";
      console.error(`The run ended as ${status}${why}`);
      return 1;
    }
  }
}

/** The step to resume, if only one waits. */
async function onlyStep(workflow: ClientWorkflow, runId: string): Promise<string | undefined> {
  const { steps = {}, status } = await workflow.runById(runId, { fields: ["steps"] });
  if (status === "paused") return undefined;
  const waiting = suspendedSteps(steps);
  if (waiting.length === 1) return waiting[0];
  if (waiting.length > 1)
    throw new AgentError(
      "ambiguous",
      `Several steps wait: ${waiting.map((id) => oneLine(id)).join(", ")}. Name one with --step.`,
    );
  throw new AgentError("conflict", `No step of run "${oneLine(runId)}" waits: it is ${status}.`);
}

function suspendedSteps(steps: NonNullable<WireWorkflowState["steps"]>): string[] {
  const waiting = Object.keys(steps).filter((id) => steps[id]?.status === "suspended");
  // A workflow waits with its steps; the steps are what can be resumed.
  return waiting.filter((id) => !waiting.some((other) => other.startsWith(`${id}.`)));
}

function parse(flag: string, text: string | undefined): JSONValue | undefined {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as JSONValue;
  } catch (error) {
    throw new AgentError(
      "invalid-argument",
      `${flag} must be JSON such as '{"order": 7}', got ${oneLine(text)}: ${(error as Error).message}`,
    );
  }
}

function toStatus(text: string): WorkflowRunStatus {
  const found = WORKFLOW_RUN_STATUSES.find((status) => status === text);
  if (found) return found;
  throw new AgentError(
    "invalid-argument",
    `--status must be one of ${WORKFLOW_RUN_STATUSES.join(", ")}, got ${oneLine(text)}.`,
  );
}

function isOver(status: WorkflowRunStatus): boolean {
  return ["success", "failed", "tripwire", "canceled", "bailed"].includes(status);
}

function paint(style: Style, status: WorkflowRunStatus): (text: string) => string {
  if (status === "success") return style.green;
  if (status === "failed" || status === "tripwire") return style.red;
  return status === "suspended" || status === "paused" ? style.yellow : (text) => text;
}
