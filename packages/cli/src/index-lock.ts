import { mkdir, open, readFile, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { AgentError } from "@selvedge/core/errors";

/** Keeps two runs from reading one folder into one index at once. A lock of a process that is no more is taken over. */
export async function takeIndexLock(path: string): Promise<() => Promise<void>> {
  await mkdir(dirname(path), { recursive: true });
  for (let attempt = 0; attempt < 2; attempt++) {
    try {
      const file = await open(path, "wx");
      await file.write(String(process.pid));
      await file.close();
      return () => rm(path, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      const owner = Number(await readFile(path, "utf8").catch(() => "0"));
      if (owner > 0 && isAlive(owner)) {
        throw new AgentError("conflict", `Process ${owner} is making this index; wait until it is done`);
      }
      await rm(path, { force: true });
    }
  }
  throw new AgentError("conflict", `Another process is making this index (${path})`);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
