import { parentPort } from "node:worker_threads";
import { AgentError, errorMessage } from "../../errors.ts";
import { lowerPriority } from "../contained/lower-priority.ts";
import { treeSource } from "../contained/tree-source.ts";
import { SCAN_JOBS } from "./scan-jobs.ts";
import type { ScanSource } from "./scan-source.ts";
import type { ThreadAnswer, ThreadRequest } from "./scan-threads.ts";
import type { ScanContext } from "./scan-context.ts";

// A thread of ScanThreads: runs one job at a time.
const port = parentPort!;
// The event loop of the process has the first turn when processors are scarce.
lowerPriority();

port.on("message", (request: ThreadRequest) => void answer(request));

async function answer({ roots, job, input }: ThreadRequest): Promise<void> {
  const send = (message: ThreadAnswer): void => port.postMessage(message);
  const run = SCAN_JOBS[job] as (
    source: ScanSource,
    input: unknown,
    context: ScanContext<unknown>,
  ) => Promise<unknown>;
  try {
    const result = await run(treeSource(roots), input, {
      isThread: true,
      report: (part) => send({ part }),
    });
    send({ result });
  } catch (error) {
    const { name } = error as Error;
    const code = AgentError.is(error) ? error.code : "tool-failed";
    send({ failed: { name, code, message: errorMessage(error) } });
  }
}
