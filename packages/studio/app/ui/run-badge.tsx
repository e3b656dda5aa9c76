import type { RunInfo } from "@selvedge/protocol/routes";
import type { ReactNode } from "react";
import { Badge, type Tone } from "./badge.tsx";

const LOOK: Record<RunInfo["state"], { tone?: Tone; text: string }> = {
  running: { tone: "indigo", text: "running" },
  suspended: { tone: "amber", text: "waiting" },
  done: { tone: "green", text: "done" },
  failed: { tone: "red", text: "failed" },
  aborted: { text: "stopped" },
};

export function RunBadge({ state }: { state: RunInfo["state"] }): ReactNode {
  const { tone, text } = LOOK[state];
  return (
    <Badge tone={tone} pulse={state === "running"}>
      {text}
    </Badge>
  );
}
