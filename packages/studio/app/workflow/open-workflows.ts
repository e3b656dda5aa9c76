import { allStepsOf, type Outline } from "./outline.ts";

/** Up to this many steps are shown all at once. */
const MAX_OPEN = 40;

/**
 * Which nested workflows show their steps: all of a small workflow, otherwise those around the chosen step. What a person
 * opened or closed stays as they left it.
 */
export function openWorkflows(
  outline: Outline,
  chosen: string | undefined,
  byPerson: ReadonlyMap<string, boolean>,
): Set<string> {
  const steps = [...allStepsOf(outline)];
  const nested = steps.filter((step) => step.kind === "step" && step.steps !== undefined);
  const isSmall = steps.length <= MAX_OPEN;
  const open = new Set<string>();
  for (const { key } of nested) {
    const isAround = chosen?.startsWith(`${key}.`) ?? false;
    if (byPerson.get(key) ?? (isSmall || isAround)) open.add(key);
  }
  return open;
}
