import { AgentError } from "../errors.ts";
import { sleep, type System } from "../system.ts";
import type { WorkspaceFilesystem } from "./workspace-filesystem.ts";

/** The same filesystem, whose operations reject after some time. They are not undone: a late write may still happen. */
export function filesWithTimeLimit(
  files: WorkspaceFilesystem,
  ms: number,
  system: System,
): WorkspaceFilesystem {
  return new Proxy(files, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]): unknown => {
        const result: unknown = Reflect.apply(value, target, args);
        if (name === "withAllowedPaths") return filesWithTimeLimit(result as WorkspaceFilesystem, ms, system);
        return result instanceof Promise
          ? withTimeLimit(result, ms, `${target.name}.${String(name)}`, system)
          : result;
      };
    },
  });
}

/** Rejects with `tool-timeout` if the work takes longer. */
export async function withTimeLimit<Result>(
  work: Promise<Result>,
  ms: number,
  what: string,
  system: System,
): Promise<Result> {
  const done = new AbortController();
  const late = sleep(system, ms, done.signal).then(() => {
    throw new AgentError(
      "tool-timeout",
      `${what} took longer than ${ms} ms (operationTimeout). It may still take effect.`,
    );
  });
  late.catch(() => {});
  try {
    return await Promise.race([work, late]);
  } finally {
    done.abort();
  }
}
