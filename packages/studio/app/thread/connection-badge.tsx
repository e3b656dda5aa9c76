import type { UseThreadResult as Thread } from "@selvedge/react";
import type { ReactNode } from "react";
import { Badge, type Tone } from "../ui/badge.tsx";

const LOOK: Record<Thread["connection"], { tone?: Tone; text: string; title: string }> = {
  connecting: { text: "connecting", title: "Connecting to the thread's stream." },
  live: { tone: "green", text: "live", title: "Events on the thread appear as they happen." },
  reconnecting: {
    tone: "amber",
    text: "reconnecting",
    title: "The connection was lost. The page reconnects and continues where it stopped.",
  },
};

export function ConnectionBadge({ connection }: { connection: Thread["connection"] }): ReactNode {
  const { tone, text, title } = LOOK[connection];
  return (
    <Badge tone={tone} title={title} pulse={connection !== "connecting"}>
      {text}
    </Badge>
  );
}
