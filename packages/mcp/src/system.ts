import type { System } from "@selvedge/core";

export { realSystem, type System } from "@selvedge/core";

export function sleep(system: System, ms: number, options?: { background?: boolean }): Promise<void> {
  return new Promise((resolve) => system.setTimer(ms, resolve, options));
}
