import { sleep } from "./script.ts";

/** Bytes in use after a few collections. */
export async function heapUsed(): Promise<number> {
  for (let i = 0; i < 4; i++) {
    (globalThis as { gc?: () => void }).gc?.();
    await sleep(30);
  }
  return process.memoryUsage().heapUsed;
}
