import type { ReactNode } from "react";
import { formatValue } from "../format.ts";
import { CopyButton } from "./copy-button.tsx";

/** A value with its name, to be read and copied. */
export function Payload({ name, value }: { name: string; value: unknown }): ReactNode {
  return (
    <div>
      <div className="row payload-head">
        <p className="hint grow">{name}</p>
        <CopyButton label={`Copy the ${name.toLowerCase()}`} text={() => formatValue(value)} />
      </div>
      <pre className="code" tabIndex={0} aria-label={name}>
        {formatValue(value)}
      </pre>
    </div>
  );
}
