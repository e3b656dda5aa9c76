import type { ReactNode } from "react";
import { Badge } from "./badge.tsx";
import { Icon, type IconName } from "./icon.tsx";

/** A part of the panel beside a conversation. */
export function Section({
  icon,
  title,
  count,
  urgent,
  nothing,
  children,
}: {
  icon: IconName;
  title: string;
  count?: number;
  urgent?: boolean;
  /** What to say in place of the contents when there are none. */
  nothing?: string | undefined;
  children: ReactNode;
}): ReactNode {
  if (nothing !== undefined) {
    return (
      <div className="inspector-section row">
        <Icon name={icon} />
        <h2 className="grow">{title}</h2>
        <span className="hint">{nothing}</span>
      </div>
    );
  }
  return (
    <details className="inspector-section" open>
      <summary className="row">
        <Icon name={icon} />
        <h2 className="grow">{title}</h2>
        {count !== undefined && count > 0 && <Badge tone={urgent ? "amber" : "indigo"}>{count}</Badge>}
        <Icon name="down" />
      </summary>
      <div className="stack">{children}</div>
    </details>
  );
}
