import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import {
  checkRun,
  type FlowDef,
  Random,
  type Request,
  type ResumeRequest,
  type SimRun,
  type StoredRun,
  WorkflowLedger,
} from "@selvedge/testing/simulator";
import { HANGS_AFTER_MS, leaseFor, type StoreFactory, type StorePlace } from "../kill/store-factory.ts";
import { readLog } from "./flow-log.ts";
import type { WorkflowChildConfig, WorkflowKill } from "./protocol.ts";
import { WorkflowProcess } from "./workflow-process.ts";

interface Read extends StoredRun {
  suspendedPaths?: Record<string, number[]>;
}

/** A store, processes on it, and runs whose outcome the interpreter knows. */
export class WorkflowSession {
  readonly random: Random;
  readonly problems: string[] = [];
  readonly reached: Set<string> = new Set();
  readonly mayLoseSteps = true;
  readonly #folder: string;
  readonly #place: StorePlace;
  readonly #factory: StoreFactory;
  readonly #ledger = new WorkflowLedger(this);
  #processes: WorkflowProcess[] = [];
  #numbers = 0;

  private constructor(folder: string, place: StorePlace, factory: StoreFactory, seed: number) {
    this.random = new Random(seed);
    this.#factory = factory;
    this.#folder = folder;
    this.#place = place;
  }

  static async open(factory: StoreFactory, seed: number): Promise<WorkflowSession> {
    const folder = mkdtempSync(join(tmpdir(), "selvedge-workflows-"));
    return new WorkflowSession(folder, await factory.create(folder), factory, seed);
  }

  note(): void {}

  violate(invariant: string, message: string): void {
    this.problems.push(`${invariant} ${message}`);
  }

  open(flows: readonly FlowDef[], kill?: WorkflowKill, stepMs = 2): WorkflowProcess {
    const config: WorkflowChildConfig = {
      store: this.#place,
      flows: [...flows],
      log: join(this.#folder, "log"),
      commits: join(this.#folder, "commits"),
      lease: leaseFor(this.#factory),
      stepMs,
      ...(kill && { kill }),
    };
    const child = new WorkflowProcess(config);
    this.#processes.push(child);
    return child;
  }

  /** The kinds of commits there were, in their order. */
  commits(): string[] {
    return readFileSync(join(this.#folder, "commits"), "utf8").split("\n").filter(Boolean);
  }

  async start(process: WorkflowProcess, flow: FlowDef): Promise<SimRun> {
    const number = ++this.#numbers;
    const run = this.#ledger.newRun(`run-${number}`, flow, { n: number });
    await this.begin(process, run);
    return run;
  }

  async begin(process: WorkflowProcess, run: SimRun): Promise<void> {
    const request: Request = { process, outcome: "pending" };
    run.starts.push(request);
    const answer = await process.call({ do: "start", flow: run.flow.id, runId: run.id, input: run.input });
    request.outcome = answer === undefined ? "unsure" : answer.ok ? "accepted" : "refused";
    if (answer && !answer.ok && answer.code !== "conflict")
      this.violate("W8", `start of ${run.id}: ${answer.message}`);
  }

  async resume(process: WorkflowProcess, run: SimRun, step: string): Promise<ResumeRequest> {
    const token = `answer-${++this.#numbers}`;
    const stepId = step.slice(step.lastIndexOf(".") + 1);
    const request: ResumeRequest = { process, outcome: "pending", life: 0, token, stepId };
    run.resumes.push(request);
    const resumeData = stepId.startsWith("a") ? { approved: true } : { answer: token };
    const answer = await process.call({ do: "resume", flow: run.flow.id, runId: run.id, step, resumeData });
    request.outcome = answer === undefined ? "unsure" : answer.ok ? "accepted" : "refused";
    if (answer && !answer.ok && answer.code === "internal") this.violate("W8", answer.message);
    return request;
  }

  async cancel(process: WorkflowProcess, run: SimRun): Promise<void> {
    const request: SimRun["cancels"][number] = { process, outcome: "pending", life: 0 };
    run.cancels.push(request);
    const answer = await process.call({ do: "cancel", flow: run.flow.id, runId: run.id });
    request.outcome = answer === undefined ? "unsure" : answer.ok ? "accepted" : "refused";
    if (answer && !answer.ok) this.violate("W8", `cancel of ${run.id}: ${answer.message}`);
  }

  /** Resolves when no agent waits for a person. */
  async unasked(process: WorkflowProcess): Promise<void> {
    for (const since = performance.now(); ; await delay(20)) {
      const answer = await process.call({ do: "questions" });
      if (answer?.ok && answer.value === 0) return;
      if (performance.now() - since > HANGS_AFTER_MS) throw new Error("W9 an agent waits in vain");
    }
  }

  async read(process: WorkflowProcess, run: SimRun): Promise<Read | undefined> {
    const answer = await process.call({ do: "read", flow: run.flow.id, runId: run.id });
    if (answer && !answer.ok) throw new Error(`${run.id} cannot be read: ${answer.message}`);
    return (answer?.value ?? undefined) as Read | undefined;
  }

  /** Resolves when the run rests, with what it is then. */
  async resting(process: WorkflowProcess, run: SimRun): Promise<Read | undefined> {
    for (const since = performance.now(); process.alive; await delay(5)) {
      const stored = await this.read(process, run);
      if (stored && stored.status !== "running" && stored.status !== "waiting" && stored.status !== "pending")
        return stored;
      if (!stored && !run.starts.some(({ outcome }) => outcome !== "refused")) return undefined;
      if (performance.now() - since > HANGS_AFTER_MS) throw new Error(`I12 ${run.id} is ${stored?.status}`);
    }
    return undefined;
  }

  /** Answers whatever waits until the run has ended, and checks it. */
  async finish(process: WorkflowProcess, run: SimRun): Promise<void> {
    if (!(await this.read(process, run))) await this.begin(process, run);
    for (let round = 0; round < 50; round++) {
      const stored = await this.resting(process, run);
      if (!stored) return;
      if (stored.status !== "suspended") return this.#check(run, stored);
      for (const path of Object.keys(stored.suspendedPaths ?? {})) await this.resume(process, run, path);
    }
    this.violate("I12", `${run.id} always waits`);
  }

  #check(run: SimRun, stored: StoredRun): void {
    const { executions, keys } = run;
    executions.clear();
    keys.clear();
    readLog(join(this.#folder, "log"), this.#ledger, run.id);
    checkRun(run, stored, { world: this, ledger: this.#ledger });
  }

  async close(): Promise<void> {
    for (const process of this.#processes) if (process.alive) await process.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
