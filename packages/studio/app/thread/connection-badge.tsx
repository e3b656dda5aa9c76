import type { UseThreadResult as Thread } from "@selvedge/react";
import type { ReactNode } from "react";
import { Badge, type Tone } from "../ui/badge.tsx";

const LOOK: Record<Thread["connection"], { tone?: Tone; text: string; title: string }> = {
  connecting: { text: "connecting", title: "Opening the stream of the thread." },
  live: { tone: "green", text: "live", title: "What happens on the thread is shown as it happens." },
  reconnecting: {
    tone: "amber",
    text: "reconnecting",
    title: "The line to the server broke. The page goes on from where it was when the server is back.",
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
