import type { ThreadMessage } from "@selvedge/react";
import { memo, type ReactNode, useRef } from "react";
import { MessageRow } from "./message-row.tsx";

const SIZE = 40;

interface GroupProps {
  messages: readonly ThreadMessage[];
  agentName: string;
}

/**
 * The rows of a thread, in groups of which only the changed ones are looked at again: a word that streams into the last
 * message of ten thousand costs what it costs in a short thread.
 */
export function MessageGroups({ messages, agentName }: GroupProps): ReactNode {
  // Groups are counted from a message that stays, so that neither end that grows shifts them.
  const anchor = useRef<string>(undefined);
  let at = messages.findIndex(({ id }) => id === anchor.current);
  if (at === -1) {
    anchor.current = messages[0]?.id;
    at = 0;
  }
  const groups: ReactNode[] = [];
  for (let from = at - Math.ceil(at / SIZE) * SIZE; from < messages.length; from += SIZE) {
    const part = messages.slice(Math.max(0, from), from + SIZE);
    const isOld = messages.length - from > 2 * SIZE;
    groups.push(<Group key={from - at} messages={part} agentName={agentName} isOld={isOld} />);
  }
  return groups;
}

const Group: (props: GroupProps & { isOld: boolean }) => ReactNode = memo(
  ({ messages, agentName, isOld }: GroupProps & { isOld: boolean }) => (
    <ol className="message-group" data-old={isOld || undefined}>
      {messages.map((message) => (
        <MessageRow key={message.id} message={message} agentName={agentName} />
      ))}
    </ol>
  ),
  (before, after) =>
    before.isOld === after.isOld &&
    before.agentName === after.agentName &&
    before.messages.length === after.messages.length &&
    before.messages.every((message, index) => message === after.messages[index]),
);
