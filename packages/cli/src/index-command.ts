import { availableParallelism } from "node:os";
import { mkdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { AgentError, errorMessage } from "@selvedge/core/errors";
import { localEmbedder } from "@selvedge/embed-local";
import { LibSQLVector } from "@selvedge/libsql";
import { countOf } from "./count-of.ts";
import { indexFolder } from "./index-folder.ts";
import { takeIndexLock } from "./index-lock.ts";
import { ProgressBar } from "./progress-bar.ts";
import { createStyle, wantsColor } from "./style.ts";

export interface IndexFlags {
  database: string;
  name: string;
  size: string;
  overlap: string;
  threads?: string;
  fresh?: boolean;
  replace?: boolean;
  all?: boolean;
  color: boolean;
}

type CheckedFlags = Omit<IndexFlags, "size" | "overlap" | "threads"> &
  Record<"size" | "overlap" | "threads", number>;

/** Each takes up to 280 MB, so not all of a large machine. */
const MOST_THREADS_UNASKED = 4;

/** `selvedge index <folder>`. */
export async function runIndexCommand(folder: string, flags: IndexFlags): Promise<number> {
  const size = wholeNumber("--size", flags.size, 50);
  const overlap = wholeNumber("--overlap", flags.overlap, 0);
  const threads =
    flags.threads === undefined
      ? Math.min(availableParallelism(), MOST_THREADS_UNASKED)
      : wholeNumber("--threads", flags.threads, 1);
  const info = await stat(folder).catch(() => undefined);
  if (!info?.isDirectory()) {
    const what = info ? "is a file, not a folder" : "does not exist";
    throw new AgentError("invalid-argument", `${folder} ${what}. Pass the folder with the documents.`);
  }
  const bar = new ProgressBar(process.stderr);
  try {
    return await makeIndex(folder, { ...flags, size, overlap, threads }, bar);
  } finally {
    bar.clear();
  }
}

async function makeIndex(folder: string, flags: CheckedFlags, bar: ProgressBar): Promise<number> {
  const { size, overlap, threads } = flags;
  const style = createStyle(flags.color && wantsColor(process.stderr, process.env));
  const embedder = localEmbedder({ threads });
  bar.say("Loading the embedding model");
  // A missing model is reported now, not after the first file.
  await embedder.embed(["."]);
  const database = await realFile(resolve(flags.database));
  const beside = `${database}.${encodeURIComponent(flags.name)}`;
  const unlock = await takeIndexLock(`${beside}.lock.db`);
  const vector = new LibSQLVector({ url: pathToFileURL(database).href });
  // What is stored is whole at any moment; there is nothing to wait for.
  const interrupt = (): void => {
    bar.clear();
    console.error("selvedge: stopped. Run the same command again to continue.");
    process.exit(130);
  };
  process.once("SIGINT", interrupt);
  try {
    bar.say("Looking for documents");
    const report = await indexFolder({
      folder: await realpath(folder),
      vector,
      embedder,
      indexName: flags.name,
      journalPath: `${beside}.journal`,
      size,
      overlap,
      fresh: flags.fresh === true,
      replace: flags.replace === true,
      all: flags.all === true,
      // One more, so that there is something to embed while a file is stored.
      filesAtOnce: threads + 1,
      onProgress: (progress) => bar.draw(progress),
    });
    bar.clear();
    const parts = [`${report.read} read`, `${report.unchanged} unchanged`, `${report.removed} removed`];
    if (report.skipped > 0) parts.push(`${report.skipped} without text`);
    console.log(
      `${style.bold(countOf(report.passages, "passage"))} in index ${flags.name} (files: ${parts.join(", ")})`,
    );
    if (report.leftOut > 0) {
      console.log(style.dim(`${report.leftOut} files and folders were skipped; --all reads them too`));
    }
    for (const [path, reason] of report.unreadable) {
      console.error(`${JSON.stringify(path)} could not be read: ${errorMessage(reason)}`);
    }
    bar.say("Building the search index");
    await vector.buildIndex({ indexName: flags.name });
    return report.unreadable.size === 0 ? 0 : 1;
  } finally {
    process.off("SIGINT", interrupt);
    await vector.close();
    unlock();
  }
}

/** One path for a file, whichever links lead to its folder: what stands beside it must not exist twice. */
async function realFile(path: string): Promise<string> {
  const folder = dirname(path);
  await mkdir(folder, { recursive: true });
  return realpath(path).catch(async () => join(await realpath(folder), basename(path)));
}

export function wholeNumber(flag: string, text: string, least: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= least) return value;
  throw new AgentError(
    "invalid-argument",
    `${flag} must be a whole number of at least ${least}, got ${text}`,
  );
}
