import { type FormEvent, type ReactNode, useState } from "react";
import { useStudio } from "../studio-context.tsx";
import { Button } from "../ui/button.tsx";
import { useActions } from "./actions.tsx";

type EventKind = "notification" | "signal" | "state";
type Priority = "urgent" | "high" | "medium" | "low";

const PRIORITIES: readonly Priority[] = ["urgent", "high", "medium", "low"];
const CONTENTS: Record<EventKind, string> = {
  notification: "CI failed on main: 3 tests failed.",
  signal: "The user has opened the settings page.",
  state: "The browser is open on https://example.com with 3 tabs.",
};
const EXPLAINED: Record<EventKind, string> = {
  notification: "Goes to the inbox. Its priority decides when the agent receives it.",
  signal: "Context for the agent: it joins the active run, or wakes the thread.",
  state: "The current state of something, under a name. Sending the same state again changes nothing.",
};

/** Sends into the thread what systems send, to see what the agent makes of it. */
export function EventForm({
  agentId,
  threadId,
  onSent,
}: {
  agentId: string;
  threadId: string;
  onSent(): void;
}): ReactNode {
  const { client, resourceId } = useStudio();
  const { attempt, thread } = useActions();
  const [kind, setKind] = useState<EventKind>("notification");
  const [name, setName] = useState("github");
  const [priority, setPriority] = useState<Priority>("high");
  const [contents, setContents] = useState("");
  const [sending, setSending] = useState(false);

  const send = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setSending(true);
    const text = contents.trim() || CONTENTS[kind];
    const params = { agentId };
    const target = { resourceId, threadId };
    const sent = await attempt(() => {
      if (kind === "notification") {
        const notification = { source: name, kind: "event", priority, summary: text };
        return client.call("sendNotification", { params, body: { notification, ...target } });
      }
      if (kind === "state") {
        const state = { id: name, cacheKey: text, contents: text, mode: "snapshot" as const };
        return client.call("sendStateSignal", { params, body: { state, ...target } });
      }
      const signal = { type: "reactive" as const, tagName: name, contents: text };
      return client.call("sendSignal", { params, body: { signal, ...target } });
    });
    setSending(false);
    if (!sent) return;
    setContents("");
    onSent();
    void thread.refresh();
  };

  const change = (next: EventKind): void => {
    setKind(next);
    setName({ notification: "github", signal: "system-reminder", state: "browser" }[next]);
  };

  return (
    <form className="stack" onSubmit={(event) => void send(event)}>
      <div className="segments" role="group" aria-label="Kind of event">
        {(["notification", "signal", "state"] as const).map((option) => (
          <button type="button" key={option} aria-pressed={kind === option} onClick={() => change(option)}>
            {option}
          </button>
        ))}
      </div>
      <p className="hint">{EXPLAINED[kind]}</p>
      <div className="pair">
        <label className="field">
          <span className="label">{{ notification: "Source", signal: "Tag", state: "Lane" }[kind]}</span>
          <input className="input" required value={name} onChange={(event) => setName(event.target.value)} />
        </label>
        {kind === "notification" && (
          <label className="field">
            <span className="label">Priority</span>
            <select
              className="input"
              value={priority}
              onChange={(event) => setPriority(event.target.value as Priority)}
            >
              {PRIORITIES.map((option) => (
                <option key={option}>{option}</option>
              ))}
            </select>
          </label>
        )}
      </div>
      <label className="field">
        <span className="label">Contents</span>
        <textarea
          className="input"
          rows={2}
          placeholder={CONTENTS[kind]}
          value={contents}
          onChange={(event) => setContents(event.target.value)}
        />
      </label>
      <div>
        <Button size="small" icon="signal" type="submit" disabled={sending}>
          Send the {kind}
        </Button>
      </div>
    </form>
  );
}
