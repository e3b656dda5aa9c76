import { AgentError, errorMessage } from "@selvedge/core/errors";
import type { System } from "@selvedge/core/memory";
import { FileExistsError, type WorkspaceFilesystem } from "@selvedge/core/workspace";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Download } from "playwright-core";

const MAX_BYTES = 10 << 20;
const CHECK_MS = 200;
const MAX_NAMES = 100;

interface SaveOptions {
  files: WorkspaceFilesystem;
  /** Where the browser puts downloads before they are saved. */
  folder: string;
  system: System;
  timeout: number;
}

/** Moves a download into the workspace. Returns its path there. */
export async function saveDownload(download: Download, options: SaveOptions): Promise<string> {
  const stopWatching = watchSize(download, options);
  try {
    const failure = await download.failure();
    if (failure !== null) throw new Error(failure);
    const bytes = await readFile(await download.path());
    if (bytes.length > MAX_BYTES) throw tooLarge();
    return await write(options.files, safeName(download.suggestedFilename()), bytes);
  } catch (error) {
    if (AgentError.is(error)) throw error;
    throw new AgentError("tool-failed", errorMessage(error).split("\n")[0]!.slice(0, 200));
  } finally {
    stopWatching();
    await download.delete().catch(() => {});
  }
}

/** Cancels a download that is too large or takes too long. */
function watchSize(download: Download, { folder, system, timeout }: SaveOptions): () => void {
  const deadline = system.monotonic() + timeout;
  let cancelTimer = (): void => {};
  const check = async (): Promise<void> => {
    const sizes = await Promise.all(
      (await readdir(folder)).map((name) => stat(join(folder, name)).then(({ size }) => size)),
    ).catch(() => []);
    if (Math.max(0, ...sizes) > MAX_BYTES || system.monotonic() > deadline) await download.cancel();
    else next();
  };
  const next = (): void => {
    cancelTimer = system.setTimer(CHECK_MS, () => void check().catch(() => {}));
  };
  next();
  return () => cancelTimer();
}

/** Never over an existing file. */
async function write(files: WorkspaceFilesystem, name: string, bytes: Buffer): Promise<string> {
  const [, stem = name, extension = ""] = /^(.+?)(\.[^.]{1,20})?$/s.exec(name) ?? [];
  for (let count = 1; count <= MAX_NAMES; count++) {
    const path = `downloads/${stem}${count === 1 ? "" : `-${count}`}${extension}`;
    try {
      await files.writeFile(path, bytes, { overwrite: false });
      return path;
    } catch (error) {
      if (!(error instanceof FileExistsError)) throw error;
    }
  }
  throw new AgentError("conflict", `There are already ${MAX_NAMES} downloads named ${JSON.stringify(name)}.`);
}

/** A page chooses the name: one plain file name, not hidden. */
function safeName(suggested: string): string {
  const name = suggested
    .toWellFormed()
    .replaceAll(/[\u0000-\u001f\u007f/\\:*?"<>|]/g, "_")
    .replace(/^[.\s]+/, "_")
    .replace(/[.\s]+$/, "")
    .slice(-60);
  return name === "" ? "download" : name;
}

function tooLarge(): AgentError {
  return new AgentError("limit-exceeded", `it is larger than ${MAX_BYTES >> 20} MiB`);
}
