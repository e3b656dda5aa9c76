import { AgentError } from "@selvedge/core/errors";
import type { Storage } from "@selvedge/core/storage";
import type { World } from "../world.ts";
import { readsCounts } from "./draw-flow.ts";
import { type FlowDef, longestSleep, targetsOf } from "./flow.ts";
import { WORKFLOW_RUNS } from "./planted-workflow-faults.ts";
import {
  begunAt,
  type Request,
  type ResumeRequest,
  type SimRun,
  type TravelRequest,
  type WorkflowLedger,
} from "./workflow-ledger.ts";
import type { WorkflowApp } from "./workflow-app.ts";
import { WorkflowReader } from "./workflow-reader.ts";

export interface WorkflowStage {
  world: World;
  ledger: WorkflowLedger;
  shared: Storage;
  flows: readonly FlowDef[];
  readers: WorkflowReader[];
  /** The workflows on the store itself, to read what is in it. They run nothing. */
  observer: WorkflowApp["workflows"];
  apps(): WorkflowApp[];
}

const ENDS: ReadonlySet<unknown> = new Set(["success", "failed"]);

/** One thing some client does. */
export function actOnWorkflows(stage: WorkflowStage): void {
  const { world, ledger } = stage;
  if (stage.apps().length === 0) return;
  const action = world.random.weighted<(stage: WorkflowStage) => void>([
    [ledger.runs.length === 0 ? 100 : ledger.runs.length < 3 ? 12 : 0, startRun],
    [4, startAgain],
    [40, resumeSome],
    [4, cancelSome],
    [ledger.runs.length < 3 ? 2 : 0, cancelFirst],
    [6, travelSome],
    [8, read],
    [3, restart],
    [3, list],
  ]);
  action(stage);
}

/** Follows a request to its answer. */
function follow(
  stage: WorkflowStage,
  run: SimRun,
  request: Request,
  what: string,
  asked: Promise<unknown>,
): void {
  const { world } = stage;
  world.note(() => `${what} of ${run.id} through ${request.process.name}`);
  asked.then(
    () => {
      request.outcome = "accepted";
      world.note(() => `${what} of ${run.id} is accepted`);
      world.reached.add(`accepted: ${what.split(" ")[0]}`);
    },
    (error: unknown) => {
      world.note(() => `${what} of ${run.id} is refused: ${String(error)}`);
      const code = AgentError.is(error) ? error.code : undefined;
      // A store that failed may have taken it; so may a process that closes.
      const isUnsure = code === "storage-failed" || code === "storage-closed" || code === "superseded";
      request.outcome = isUnsure ? "unsure" : "refused";
      if (code === undefined) world.violate("W8", `${what} of ${run.id} failed with ${describe(error)}`);
      else world.reached.add(`refused: ${what.split(" ")[0]} ${code}`);
    },
  );
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? String(error)) : String(error);
}

function startRun(stage: WorkflowStage): void {
  const { world, ledger } = stage;
  const flow = world.random.pick(stage.flows);
  const number = world.nextNumber();
  const run = ledger.newRun(`run-${number}`, flow, { n: number });
  begin(stage, run, world.random.pick(stage.apps()));
  // The same request through two processes.
  if (world.random.chance(0.2)) begin(stage, run, world.random.pick(stage.apps()));
}

function startAgain(stage: WorkflowStage): void {
  const { random } = stage.world;
  if (stage.ledger.runs.length > 0) begin(stage, random.pick(stage.ledger.runs), random.pick(stage.apps()));
}

/** Nobody accepted it and nobody can have: the world would wait for it in vain. */
export function beginUnstarted(stage: WorkflowStage, run: SimRun): void {
  begin(stage, run, stage.world.random.pick(stage.apps()));
}

function begin(stage: WorkflowStage, run: SimRun, app: WorkflowApp): void {
  const request: Request = { process: app.process, outcome: "pending" };
  run.starts.push(request);
  const waits = stage.world.random.chance(0.3);
  const start = async (): Promise<unknown> => {
    const created = await app.workflows.get(run.flow.id)!.createRun({ runId: run.id, resourceId: "r1" });
    if (!waits) return created.startAsync({ inputData: run.input, initialState: {} });
    // Accepted means stored; that is known when it comes to rest.
    return created.start({ inputData: run.input, initialState: {} });
  };
  follow(stage, run, request, "start", start());
}

function resumeSome(stage: WorkflowStage): void {
  const { random } = stage.world;
  if (stage.ledger.runs.length === 0) return;
  const run = random.pick(stage.ledger.runs);
  const apps = stage.apps();
  resumeWaiting(stage, run, random.pick(apps), random.chance(0.3) ? random.pick(apps) : undefined);
}

interface Waiting {
  path: string[];
  label: string | undefined;
  index: number | undefined;
}

/** Resumes something that waits, now and then through two processes at once. */
export function resumeWaiting(
  stage: WorkflowStage,
  run: SimRun,
  app: WorkflowApp,
  second?: WorkflowApp,
): void {
  void waitingIn(app, run).then((waiting) => {
    if (waiting.length === 0) return;
    const one = stage.world.random.pick(waiting);
    resume(stage, run, app, one);
    if (second?.process.alive) resume(stage, run, second, one);
  }, noop);
}

/** What waits for a person, as the engine lists it. */
async function waitingIn(app: WorkflowApp, run: SimRun): Promise<Waiting[]> {
  const state = await app.workflows
    .get(run.flow.id)!
    .getWorkflowRunById(run.id, { fields: ["suspendedPaths", "resumeLabels"] });
  if (state?.status !== "suspended" && state?.status !== "running" && state?.status !== "waiting") return [];
  return Object.keys(state.suspendedPaths ?? {}).map((path) => {
    const ids = path.split(".");
    const label = Object.entries(state.resumeLabels ?? {}).find(([, { stepId }]) => stepId === path);
    return { path: ids, label: label?.[0], index: label?.[1].forEachIndex };
  });
}

function resume(stage: WorkflowStage, run: SimRun, app: WorkflowApp, { path, label }: Waiting): void {
  const { world } = stage;
  const { random } = world;
  const stepId = path.at(-1)!;
  const isAgent = stepId.startsWith("a");
  const token = `answer-${world.nextNumber()}`;
  const request: ResumeRequest = {
    process: app.process,
    outcome: "pending",
    life: run.life,
    token,
    stepId,
  };
  run.resumes.push(request);
  const resumeData = isAgent ? { approved: true } : { answer: token };
  const target =
    label !== undefined && random.chance(0.5)
      ? { label }
      : { step: random.chance(0.5) ? path : path.join(".") };
  const send = async (): Promise<unknown> => {
    const found = await app.workflows.get(run.flow.id)!.createRun({ runId: run.id, resourceId: "r1" });
    return found.resumeAsync({ ...target, resumeData });
  };
  follow(stage, run, request, `resume ${path.join(".")} with ${token}`, send());
}

function cancelSome(stage: WorkflowStage): void {
  const { random } = stage.world;
  if (stage.ledger.runs.length > 0) cancel(stage, random.pick(stage.ledger.runs));
}

/** Somebody cancels a run that nobody has started. A start may follow at any moment. */
function cancelFirst(stage: WorkflowStage): void {
  const { world, ledger } = stage;
  const number = world.nextNumber();
  const run = ledger.newRun(`run-${number}`, world.random.pick(stage.flows), { n: number });
  cancel(stage, run);
  if (world.random.chance(0.3)) begin(stage, run, world.random.pick(stage.apps()));
}

function cancel(stage: WorkflowStage, run: SimRun): void {
  const app = stage.world.random.pick(stage.apps());
  const request: SimRun["cancels"][number] = { process: app.process, outcome: "pending", life: run.life };
  run.cancels.push(request);
  const send = async (): Promise<void> => {
    const found = await app.workflows.get(run.flow.id)!.createRun({ runId: run.id, resourceId: "r1" });
    await found.cancel();
    request.first = run.starts.length === 0;
    const [row] = await stage.shared.select({ table: WORKFLOW_RUNS, where: { run_id: run.id } });
    request.counts = !ENDS.has(row?.["status"]) && request.life === run.life;
  };
  follow(stage, run, request, "cancel", send());
}

function travelSome(stage: WorkflowStage): void {
  const { random } = stage.world;
  if (stage.ledger.runs.length > 0) travel(stage, random.pick(stage.ledger.runs));
}

const MAX_SLEEP_MS = 100_000;

/** Executes a run again from one of its steps. */
export function travel(stage: WorkflowStage, run: SimRun): void {
  const { world } = stage;
  // A process that stood still may go on in the life before: what it begins cannot be told from what belongs to this one.
  if (world.plan.pause + world.plan.slow > 0 || run.starts.length === 0 || readsCounts(run.flow)) return;
  // Not to sleep for days once more.
  if (longestSleep(run.flow) > MAX_SLEEP_MS) return;
  const target = world.random.pick([...targetsOf(run.flow)]);
  const app = world.random.pick(stage.apps());
  const path = target.join("/");
  const request: TravelRequest = {
    process: app.process,
    outcome: "pending",
    life: run.life,
    target: path,
    begun: begunAt(run, path),
  };
  run.travels.push(request);
  const send = async (): Promise<unknown> => {
    const found = await app.workflows.get(run.flow.id)!.createRun({ runId: run.id, resourceId: "r1" });
    return found.timeTravel({ step: target.join(".") });
  };
  follow(stage, run, request, `travel to ${target.join(".")}`, send());
}

function read(stage: WorkflowStage): void {
  const { random } = stage.world;
  if (stage.ledger.runs.length === 0) return;
  const gone = stage.readers.filter((reader) => !reader.process.alive || reader.state === "closed");
  const again = gone.length > 0 && random.chance(0.5) ? random.pick(gone) : undefined;
  const run = again?.run ?? random.pick(stage.ledger.runs);
  stage.readers.push(new WorkflowReader(random.pick(stage.apps()), run, again?.last ?? 0));
}

/** Somebody who believes that a run stopped. */
function restart(stage: WorkflowStage): void {
  const { random } = stage.world;
  if (stage.ledger.runs.length === 0) return;
  const run = random.pick(stage.ledger.runs);
  const app = random.pick(stage.apps());
  void app.workflows
    .get(run.flow.id)!
    .createRun({ runId: run.id, resourceId: "r1" })
    .then((found) => found.restart())
    .catch((error: unknown) => {
      if (!AgentError.is(error))
        stage.world.violate("W8", `restart of ${run.id} failed with ${describe(error)}`);
    });
}

function list(stage: WorkflowStage): void {
  const { random } = stage.world;
  const app = random.pick(stage.apps());
  const flow = random.pick(stage.flows);
  void app.workflows.get(flow.id)!.listWorkflowRuns().catch(noop);
}

function noop(): void {}
