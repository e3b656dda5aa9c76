import type { WorkflowsApi } from "./types.ts";

/** What a framework with this API for workflows provides. */
interface WorkflowKit {
  createWorkflow: any;
  createStep: any;
  Mastra: any;
  z: any;
  /** Where runs are stored; absent for runs in memory. */
  storage?: any;
  close(): Promise<void>;
}

/** The workflows of case m for a framework with the API of Mastra. */
export function workflowsApi({
  createWorkflow,
  createStep,
  Mastra,
  z,
  storage,
  close,
}: WorkflowKit): WorkflowsApi {
  const schema = z.object({ n: z.number(), text: z.string().optional() });
  const io = { inputSchema: schema, outputSchema: schema };
  let hosts = 0;

  /** A workflow has a method `then`, so it must not be what a promise resolves to. */
  async function hosted(workflow: any): Promise<void> {
    const host = new Mastra({
      workflows: { [workflow.id]: workflow },
      ...(storage && { storage }),
      logger: false,
    });
    await host.start?.();
  }

  function chained(steps: number, bytes: number, last?: any): any {
    let workflow = createWorkflow({ id: `chain-${++hosts}`, ...io });
    const text = "x".repeat(bytes);
    for (let i = 0; i < steps; i++) {
      const execute = async ({ inputData }: any) => ({ n: inputData.n + 1, ...(bytes > 0 && { text }) });
      workflow = workflow.then(createStep({ id: `s${i}`, ...io, execute }));
    }
    if (last) workflow = workflow.then(last);
    return workflow.commit();
  }

  function expectSuccess(result: any, n: number): void {
    if (result.status !== "success" || result.result.n !== n)
      throw new Error(`${result.status}: ${JSON.stringify(result.error ?? result.result)}`);
  }

  return {
    async chain({ steps, bytes }) {
      const workflow = chained(steps, bytes);
      await hosted(workflow);
      return async () => {
        const run = await workflow.createRun();
        expectSuccess(await run.start({ inputData: { n: 0 } }), steps);
      };
    },

    async foreach({ items, concurrency }) {
      const execute = async ({ inputData }: any) => ({ n: inputData.n + 1 });
      const workflow = createWorkflow({
        id: `each-${++hosts}`,
        inputSchema: z.array(schema),
        outputSchema: z.array(schema),
      })
        .foreach(createStep({ id: "item", ...io, execute }), { concurrency })
        .commit();
      await hosted(workflow);
      const inputData = Array.from({ length: items }, (_, n) => ({ n }));
      return async () => {
        const result = await (await workflow.createRun()).start({ inputData });
        if (
          result.status !== "success" ||
          result.result.length !== items ||
          result.result[items - 1].n !== items
        )
          throw new Error(`${result.status}: ${JSON.stringify(result.error)}`);
      };
    },

    async suspended({ steps }) {
      const resumeSchema = z.object({ ok: z.boolean() });
      const execute = async ({ inputData, resumeData, suspend }: any) =>
        resumeData ? { n: inputData.n + 1 } : suspend({});
      const workflow = chained(steps, 0, createStep({ id: "ask", ...io, resumeSchema, execute }));
      await hosted(workflow);
      return {
        async start() {
          const run = await workflow.createRun();
          const { status } = await run.start({ inputData: { n: 0 } });
          if (status !== "suspended") throw new Error(status);
          return run.runId;
        },
        async open(runId) {
          const state = await workflow.getWorkflowRunById(runId);
          if (!state) throw new Error(`${runId} is not there`);
        },
        async resume(runId) {
          const run = await workflow.createRun({ runId });
          expectSuccess(await run.resume({ step: "ask", resumeData: { ok: true } }), steps + 1);
        },
      };
    },

    async sleepers() {
      const execute = async ({ inputData }: any) => inputData;
      const workflow = createWorkflow({ id: `sleep-${++hosts}`, ...io })
        .sleep(3_600_000)
        .then(createStep({ id: "after", ...io, execute }))
        .commit();
      await hosted(workflow);
      return async () => {
        const run = await workflow.createRun();
        await run.startAsync({ inputData: { n: 0 } });
      };
    },

    close,
  };
}
