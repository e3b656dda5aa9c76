import { pathToFileURL } from "node:url";
import type { BlockSetUp } from "./block-set-up.ts";
import type { Block } from "./extract-blocks.ts";

const TIME_LIMIT_MS = 10_000;

/** Executes a block's module and what its entry asks of it. Answers what went wrong, if something did. */
export async function runBlock(block: Block, file: string, setUp: BlockSetUp): Promise<string | undefined> {
  const limit = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => limit.reject(new Error(`still running after ${TIME_LIMIT_MS} ms`)),
    TIME_LIMIT_MS,
  );
  try {
    await Promise.race([limit.promise, execute(block, file, setUp)]);
    return undefined;
  } catch (error) {
    return error instanceof Error ? (error.stack ?? error.message) : String(error);
  } finally {
    clearTimeout(timer);
  }
}

async function execute(block: Block, file: string, setUp: BlockSetUp): Promise<void> {
  const exports = (await import(/* @vite-ignore */ pathToFileURL(file).href)) as { given?: object };
  if (typeof setUp.run === "function") await setUp.run(exports, exports.given ?? {}, block);
}
