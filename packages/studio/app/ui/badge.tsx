import type { ReactNode } from "react";

export type Tone = "indigo" | "red" | "amber" | "green";

export function Badge({
  tone,
  pulse,
  title,
  children,
}: {
  tone?: Tone | undefined;
  pulse?: boolean;
  title?: string;
  children: ReactNode;
}): ReactNode {
  return (
    <span className="badge" data-tone={tone} title={title}>
      {pulse && <span className="pulse" aria-hidden="true" />}
      {children}
    </span>
  );
}
