import { setTimeout as sleep } from "node:timers/promises";
import { Agent } from "@selvedge/core/agent";
import { createStep, createWorkflow, type Workflow } from "@selvedge/core/workflows";
import type { ModelChoice } from "../choose-model.ts";
import { calculator } from "./demo-tools.ts";

const METRES_PER_BOLT = 10;
const PRICES: Readonly<Record<string, number>> = { indigo: 38, ecru: 29, madder: 44 };

interface Order {
  cloth: string;
  metres: number;
  bolts: number;
  prompt: string;
}

interface Dispatch {
  cloth: string;
  metres: number;
  price: number;
  label: string;
  reservation: string;
}

const text = { type: "string" };
const order = {
  type: "object",
  properties: { cloth: text, metres: { type: "integer" }, bolts: { type: "integer" }, prompt: text },
  required: ["cloth", "metres", "bolts", "prompt"],
};
const dispatchSchema = {
  type: "object",
  properties: {
    cloth: text,
    metres: { type: "integer" },
    price: { type: "number" },
    label: text,
    reservation: text,
  },
  required: ["cloth", "metres", "price", "label", "reservation"],
};
const decided = {
  type: "object",
  properties: { ...dispatchSchema.properties, approved: { type: "boolean" }, note: text },
  required: [...dispatchSchema.required, "approved"],
};
const outcome = { type: "object", properties: { message: text }, required: ["message"] };

const checkOrder = createStep({
  id: "check-order",
  description: "Counts the bolts, and writes what the copywriter is asked.",
  inputSchema: {
    type: "object",
    properties: { cloth: text, metres: { type: "integer" } },
    required: ["cloth", "metres"],
  },
  outputSchema: order,
  execute: async ({ inputData, abortSignal }): Promise<Order> => {
    const { cloth, metres } = inputData as { cloth: string; metres: number };
    await sleep(1000, undefined, { signal: abortSignal });
    const bolts = Math.ceil(metres / METRES_PER_BOLT);
    return { cloth, metres, bolts, prompt: `Write a label for ${metres} metres of ${cloth} cloth.` };
  },
});

const reserveYarn = createStep({
  id: "reserve-yarn",
  description: "Reserves the yarn once, even if the server stops in between.",
  inputSchema: order,
  outputSchema: {
    type: "object",
    properties: { reservation: text, kilograms: { type: "number" } },
    required: ["reservation", "kilograms"],
  },
  execute: async ({ inputData, once, runId, abortSignal }) => {
    const reservation = await once("reservation", () => `yarn-${runId.slice(0, 8)}`);
    await sleep(2500, undefined, { signal: abortSignal });
    return { reservation, kilograms: (inputData as Order).metres / 2 };
  },
});

const lookUpPrice = createStep({
  id: "look-up-price",
  inputSchema: order,
  outputSchema: { type: "object", properties: { expression: text }, required: ["expression"] },
  execute: async ({ inputData, abortSignal }) => {
    const { cloth, metres } = inputData as Order;
    await sleep(1200, undefined, { signal: abortSignal });
    return { expression: `${metres} * ${PRICES[cloth] ?? 30} * 1.22` };
  },
});

/** A workflow as a step of another one. Its second step is a tool of the demo agent. */
const quote = createWorkflow({
  id: "quote",
  description: "Looks up the price per metre, and calculates with tax.",
  inputSchema: order,
  outputSchema: { type: "object", properties: { value: { type: "number" } }, required: ["value"] },
})
  .then(lookUpPrice)
  .then(createStep(calculator))
  .commit();

const weaveBolt = createStep({
  id: "weave-bolt",
  description: "Weaves one bolt. Two looms work at the same time.",
  inputSchema: { type: "integer" },
  outputSchema: text,
  execute: async ({ inputData, abortSignal }) => {
    await sleep(1500, undefined, { signal: abortSignal });
    return `bolt ${String(inputData)} woven`;
  },
});

const approveDispatch = createStep({
  id: "approve-dispatch",
  description: "Waits until a person says whether the cloth may leave.",
  inputSchema: dispatchSchema,
  outputSchema: decided,
  suspendSchema: {
    type: "object",
    properties: { question: text, label: text },
    required: ["question", "label"],
  },
  resumeSchema: {
    type: "object",
    properties: {
      approved: { type: "boolean", description: "Whether the cloth may leave." },
      note: { type: "string", maxLength: 200, description: "Goes with the parcel." },
    },
    required: ["approved"],
  },
  execute: async ({ inputData, resumeData, suspend }) => {
    const ready = inputData as Dispatch;
    if (resumeData === undefined) {
      const { metres, cloth, price, label } = ready;
      return suspend({ question: `Send ${metres} metres of ${cloth} for ${price.toFixed(2)}?`, label });
    }
    return { ...ready, ...(resumeData as { approved: boolean; note?: string }) };
  },
});

const dispatch = createStep({
  id: "dispatch",
  inputSchema: decided,
  outputSchema: outcome,
  execute: async ({ inputData, abortSignal }) => {
    await sleep(1200, undefined, { signal: abortSignal });
    const { metres, cloth, label, note } = inputData as Dispatch & { note?: string };
    return { message: `Sent ${metres} metres of ${cloth}: ${label}${note ? ` (${note})` : ""}` };
  },
});

const restock = createStep({
  id: "restock",
  inputSchema: decided,
  outputSchema: outcome,
  execute: async ({ inputData }) => {
    const { metres, cloth } = inputData as Dispatch;
    return { message: `Put ${metres} metres of ${cloth} back on the shelf.` };
  },
});

/**
 * A workflow to try in the studio: steps side by side, an agent, a nested workflow, a sleep, and an approval. Stop the
 * server at any point: it continues where it was.
 */
export function demoWorkflow(choice: ModelChoice): Workflow {
  const copywriter = createStep(
    new Agent({
      id: "copywriter",
      name: "Copywriter",
      instructions: "You write labels for cloth. Answer with one sentence.",
      model: choice.model,
    }),
  );
  return createWorkflow({
    id: "weave-order",
    description:
      "Weaves an order of cloth. Stop the server in the middle and start it again: the run continues, and you approve the last step in any tab.",
    inputSchema: {
      type: "object",
      properties: {
        cloth: { type: "string", enum: Object.keys(PRICES), default: "indigo" },
        metres: {
          type: "integer",
          minimum: 1,
          maximum: 60,
          default: 24,
          description: "10 metres are a bolt.",
        },
      },
      required: ["cloth", "metres"],
    },
    outputSchema: outcome,
  })
    .then(checkOrder)
    .parallel([reserveYarn, quote, copywriter])
    .sleep(6000)
    .map(
      ({ getStepResult }) =>
        Array.from({ length: getStepResult(checkOrder)!.bolts }, (_, index) => index + 1),
      {
        id: "list-bolts",
      },
    )
    .foreach(weaveBolt, { concurrency: 2 })
    .map(
      ({ getStepResult }): Dispatch => ({
        ...(getStepResult("check-order") as Order),
        price: Math.round((getStepResult("quote") as { value: number }).value * 100) / 100,
        label: (getStepResult("copywriter") as { text: string }).text,
        reservation: (getStepResult("reserve-yarn") as { reservation: string }).reservation,
      }),
      { id: "sum-up" },
    )
    .then(approveDispatch)
    .branch([
      [async ({ inputData }) => inputData.approved === true, dispatch],
      [async ({ inputData }) => inputData.approved !== true, restock],
    ])
    .map(({ inputData }) => Object.values(inputData)[0], { id: "outcome" })
    .commit();
}
