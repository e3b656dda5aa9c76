import type { ReactNode } from "react";
import { formatValue } from "../format.ts";

/** Why a step or a run failed. */
export function ErrorNote({ error }: { error: unknown }): ReactNode {
  const { message, name, code } = Object(error) as { message?: unknown; name?: unknown; code?: unknown };
  const kind = code ?? (name === "Error" ? undefined : name);
  return (
    <p className="note" data-tone="red">
      {typeof kind === "string" && <strong className="mono">{kind} </strong>}
      {typeof message === "string" ? message : formatValue(error)}
    </p>
  );
}
