import { parentPort } from "node:worker_threads";
import { AgentError, errorMessage } from "@selvedge/core/errors";
import { loadModel } from "./load-model.ts";
import type { Answer } from "./model-thread.ts";

// The worker of a ModelThread: receives texts, returns their vectors.
const port = parentPort!;
const model = loadModel({ ownThread: true });
// Sent with the first response.
model.catch(() => {});

port.on("message", (texts: string[]) => void answer(texts));

async function answer(texts: string[]): Promise<void> {
  try {
    const vectors = await (await model).embed(texts);
    // Copied, because it may be a view of the model's memory.
    const own = new Float32Array(vectors);
    port.postMessage({ vectors: own } satisfies Answer, [own.buffer]);
  } catch (error) {
    const code = AgentError.is(error) ? error.code : "model-failed";
    port.postMessage({ failed: { code, message: errorMessage(error) } } satisfies Answer);
  }
}
