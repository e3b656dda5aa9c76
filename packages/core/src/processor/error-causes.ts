const MAX_CAUSES = 20;

/** An error and its causes, outermost first. */
export function causesOf(error: unknown): unknown[] {
  const causes = [error];
  for (let at = 0; at < causes.length && causes.length < MAX_CAUSES; at++) {
    const { cause, errors, lastError } = Object(causes[at]) as Record<string, unknown>;
    for (const next of [cause, lastError, ...(Array.isArray(errors) ? errors : [])])
      if (next !== undefined && next !== null && !causes.includes(next)) causes.push(next);
  }
  return causes;
}
