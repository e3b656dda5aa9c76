import { describe, expect, it } from "vitest";
import { z } from "zod";
import { processes } from "./__fixtures__/processes.ts";
import { createStep } from "./create-step.ts";
import type { ExecuteParams } from "./step.ts";
import { createWorkflow } from "./workflow.ts";

const any = z.any();
const LEASE_MS = 15_000;

/** A workflow with everything in it. `effects` lists what must not happen twice. */
function everything(effects: string[], started: string[]) {
  const step = (id: string, execute: (params: ExecuteParams) => unknown, more: object = {}) =>
    createStep({
      id,
      inputSchema: any,
      outputSchema: any,
      execute: async (params) => execute(params),
      ...more,
    });
  const add = (id: string) => step(id, ({ inputData }) => Number(inputData) + 1);
  const pay = step("pay", async ({ inputData, once, runId, idempotencyKey, setState, state }) => {
    await once("charge", () => void effects.push(`charge ${idempotencyKey.slice(runId.length)}`));
    await setState({ paid: ((state.paid as number | undefined) ?? 0) + 1 });
    return inputData;
  });
  const inner = createWorkflow({ id: "inner", inputSchema: any, outputSchema: any })
    .then(add("x"))
    .sleep(1_000)
    .then(pay)
    .commit();
  const approve = step("approve", ({ inputData, resumeData, suspend }) =>
    resumeData === undefined ? suspend({ ask: inputData }) : Number(inputData) + Number(resumeData),
  );
  const strict = step(
    "strict",
    ({ inputData, idempotencyKey, runId }) => {
      started.push(idempotencyKey.slice(runId.length));
      return inputData;
    },
    { idempotent: false },
  );
  return createWorkflow({ id: "w", inputSchema: any, outputSchema: any })
    .then(add("a"))
    .parallel([add("b"), inner])
    .map(async ({ inputData }) => inputData.b + inputData.inner)
    .branch([
      [async ({ inputData }) => inputData > 0, add("up")],
      [({ inputData }) => inputData < 0, add("down")],
    ])
    .map(({ inputData }) => [inputData.up, 10, 20])
    .foreach(add("each"), { concurrency: 2 })
    .map(({ inputData }) => inputData[0] + inputData[1] + inputData[2])
    .dountil(add("again"), async ({ inputData }) => inputData % 5 === 0)
    .then(approve)
    .then(strict)
    .then(step("end", ({ inputData, state }) => ({ inputData, paid: state.paid })))
    .commit();
}

async function runWith(crashAt: number, when: "before" | "after") {
  const { system, start } = processes();
  const effects: string[] = [];
  const started: string[] = [];
  let commits = 0;
  let current: ReturnType<typeof start>;
  const open = (name: string, mayCrash: boolean) => {
    const own = start(name, everything(effects, started));
    const commit = own.driver.commit.bind(own.driver);
    if (mayCrash)
      own.driver.commit = (batch) => {
        if (++commits !== crashAt) return commit(batch);
        // Dies before the store has it, or before it hears that the store has it.
        if (when === "after") void commit(batch);
        own.kill();
        return new Promise(() => {});
      };
    return own;
  };
  current = open("first", true);
  /** Lets time pass. If the process died, another one is there. */
  const pass = async (): Promise<void> => {
    await system.advance(5_000);
    if (commits < crashAt || current.storage.id === "second") return;
    current = open("second", false);
    await system.advance(LEASE_MS + 5_000);
  };
  const id = { runId: "r" };
  const workflow = () => current.mastra.getWorkflow("w");
  void (async () => (await workflow().createRun(id)).startAsync({ inputData: 1 }))();
  await pass();
  // The second time, if the resume was not stored: its caller was not told that it was.
  for (let attempt = 0; attempt < 2; attempt++) {
    if ((await workflow().getWorkflowRunById("r"))?.status !== "suspended") break;
    void (async () => (await workflow().createRun(id)).resumeAsync({ resumeData: 100 }))().catch(() => {});
    await pass();
  }
  const state = await workflow().getWorkflowRunById("r");
  return { state, effects, started, commits };
}

describe("a run whose process dies at any commit", () => {
  it("ends as if nothing had happened, and no stored effect happens twice", async () => {
    const whole = await runWith(Number.POSITIVE_INFINITY, "before");
    expect(whole.state).toMatchObject({ status: "success", result: { inputData: 145, paid: 1 } });
    const outcomes = { same: 0, unknown: 0, never: 0, repeated: 0 };
    for (let crashAt = 1; crashAt <= whole.commits; crashAt++)
      for (const when of ["before", "after"] as const) {
        const { state, effects, started } = await runWith(crashAt, when);
        const place = `${when} commit ${crashAt}`;
        if (new Set(effects).size < effects.length) outcomes.repeated++;
        expect(started.length, place).toBeLessThanOrEqual(1);
        if (state === null) outcomes.never++;
        else if (state.status === "failed") {
          expect(state.error, place).toMatchObject({ code: "step-outcome-unknown" });
          outcomes.unknown++;
        } else {
          expect(state, place).toMatchObject({ status: "success", result: whole.state!.result });
          outcomes.same++;
        }
      }
    // A start that was not stored never ran; a step that must not run twice was interrupted.
    expect(outcomes.same).toBeGreaterThan(outcomes.unknown + outcomes.never);
    expect(outcomes.unknown).toBeLessThanOrEqual(4);
    // Only the crash between an effect and the commit that stores it repeats the effect of an idempotent step.
    expect(outcomes.repeated).toBeLessThanOrEqual(1);
  });
});
