import { parentPort } from "node:worker_threads";
import { AgentError, errorMessage } from "@selvedge/core/errors";
import { loadModel } from "./load-model.ts";
import type { Answer } from "./model-thread.ts";

// The thread of a ModelThread: takes texts, answers with their vectors.
const port = parentPort!;
const model = loadModel({ ownThread: true });
// Told with the first answer.
model.catch(() => {});

port.on("message", (texts: string[]) => void answer(texts));

async function answer(texts: string[]): Promise<void> {
  try {
    const vectors = await (await model).embed(texts);
    // A copy: what it came in may be a view of the memory of the model.
    const own = new Float32Array(vectors);
    port.postMessage({ vectors: own } satisfies Answer, [own.buffer]);
  } catch (error) {
    const code = AgentError.is(error) ? error.code : "model-failed";
    port.postMessage({ failed: { code, message: errorMessage(error) } } satisfies Answer);
  }
}
