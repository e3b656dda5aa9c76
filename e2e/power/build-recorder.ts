import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const SOURCE = fileURLToPath(new URL("./record-writes.c", import.meta.url));

/** Builds the recorder into a folder, or says why it cannot be had here. */
export function buildRecorder(folder: string): { path: string } | { reason: string } {
  if (process.platform !== "linux") return { reason: "what a process writes is recorded on Linux only" };
  const path = join(folder, "record-writes.so");
  const built = spawnSync("cc", ["-shared", "-fPIC", "-O1", "-o", path, SOURCE, "-ldl", "-lpthread"], {
    encoding: "utf8",
  });
  if (built.error) return { reason: "there is no C compiler (cc)" };
  if (built.status !== 0) throw new Error(`The recorder does not build: ${built.stderr}`);
  return { path };
}
