import type { ReactNode } from "react";

/** A name and a value, in a list of facts. */
export function Fact({ name, children }: { name: string; children: ReactNode }): ReactNode {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
