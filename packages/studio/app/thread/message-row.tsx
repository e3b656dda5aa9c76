import type { MessagePart } from "@selvedge/protocol";
import type { Wire } from "@selvedge/protocol/routes";
import type { ThreadMessage } from "@selvedge/react";
import { memo, type ReactNode } from "react";
import { formatShort, formatValue } from "../format.ts";
import { useChunkOf } from "../memory/chunk-of-message.ts";
import { Markdown } from "../markdown/markdown.tsx";
import { safeHref } from "../markdown/safe-href.ts";
import { Link, path, useRouter } from "../router.tsx";
import { Badge } from "../ui/badge.tsx";
import { CopyButton } from "../ui/copy-button.tsx";
import { Icon } from "../ui/icon.tsx";
import { Time } from "../ui/time.tsx";
import { type Change, ChangeCard } from "./change-card.tsx";
import { FilePart } from "./file-part.tsx";
import { toSender } from "./sender.ts";
import { TerminalCard } from "./terminal-card.tsx";
import { ToolCall } from "./tool-call.tsx";

export interface MessageRowProps {
  message: ThreadMessage;
  agentName: string;
}

/** One contribution to the thread, with who made it. */
export const MessageRow: (props: MessageRowProps) => ReactNode = memo(
  ({ message, agentName }: MessageRowProps) => {
    const sender = toSender(message, agentName);
    const incomplete = message.metadata?.["incomplete"] === true;
    return (
      <li
        className="message"
        data-kind={sender.kind}
        data-state={message.state}
        data-live={message.state === "streaming" ? "" : undefined}
        data-id={message.id}
        data-testid="message"
      >
        <div className="message-head">
          <span className="message-name">{sender.name}</span>
          {sender.attributes.map(([name, value]) => (
            <span className="attribute" key={name} title={`${name}: ${value}`}>
              {name} <b>{formatShort(value, 32)}</b>
            </span>
          ))}
          <span className="message-time">
            <Time at={message.createdAt} />
          </span>
          {message.state === "sending" && <Badge>sending</Badge>}
          {message.state === "waiting" && <Badge tone="amber">joins at the next step</Badge>}
          {message.state === "failed" && <Badge tone="red">not sent</Badge>}
          {incomplete && <Badge>stopped</Badge>}
          {message.state !== "streaming" && <MessageActions message={message} />}
        </div>
        <div className="message-body">
          {message.parts.map((part, index) => (
            <Part key={index} part={part} parts={message.parts} plain={sender.kind !== "agent"} />
          ))}
          {message.error && (
            <p className="note" data-tone="red">
              {message.error.message}
            </p>
          )}
        </div>
      </li>
    );
  },
);

function MessageActions({ message }: { message: ThreadMessage }): ReactNode {
  const { parts, runId, role } = message;
  const chunkId = useChunkOf(message.id);
  const hasText = parts.some((part) => part.type === "text" && part.text !== "");
  return (
    <span className="message-actions">
      {hasText && <CopyButton label="Copy this message" text={() => messageText(message)} />}
      {chunkId !== undefined && <NoteLink chunkId={chunkId} />}
      {role === "assistant" && runId !== undefined && <RunLink runId={runId} />}
    </span>
  );
}

/** Opens the notes that cover a message. */
function NoteLink({ chunkId }: { chunkId: string }): ReactNode {
  const { parts, query } = useRouter();
  return (
    <Link
      className="button"
      data-kind="quiet"
      data-size="small"
      data-icon=""
      href={path(parts, { agent: query.get("agent") ?? undefined, note: chunkId })}
      aria-label="Notes on this message"
      title="Notes on this message"
    >
      <Icon name="memory" />
    </Link>
  );
}

function RunLink({ runId }: { runId: string }): ReactNode {
  const { parts, query } = useRouter();
  const agent = query.get("agent") ?? undefined;
  return (
    <Link
      className="button"
      data-kind="quiet"
      data-size="small"
      data-icon=""
      href={path([...parts.slice(0, 2), "runs", runId], { agent })}
      aria-label="Steps of this run"
      title="Steps of this run"
    >
      <Icon name="clock" />
    </Link>
  );
}

function Part({
  part,
  parts,
  plain,
}: {
  part: Wire<MessagePart>;
  parts: ThreadMessage["parts"];
  plain: boolean;
}): ReactNode {
  switch (part.type) {
    case "text":
      if (part.text === "") return null;
      return plain ? <p className="plain">{part.text}</p> : <Markdown text={part.text} />;
    case "reasoning":
      return (
        <details className="reasoning">
          <summary>Reasoning</summary>
          <Markdown text={reasoningText(part)} />
        </details>
      );
    case "tool-invocation":
      return <ToolCall call={part.toolInvocation} />;
    case "file":
      return <FilePart data={part.data} mimeType={part.mimeType} filename={part.filename} />;
    case "source": {
      const { title, url, id } = part.source;
      const href = url === undefined ? undefined : safeHref(url);
      const name = title ?? url ?? id;
      return (
        <p className="small muted">
          Source:{" "}
          {href ? (
            <a href={href} target="_blank" rel="noopener noreferrer">
              {name}
            </a>
          ) : (
            name
          )}
        </p>
      );
    }
    case "step-start":
      return null;
    case "data-workspace-change": {
      const change = (part as { data: Change }).data;
      return <ChangeCard toolCallId={change.toolCallId} change={change} />;
    }
    case "data-sandbox-command":
      return (
        <TerminalCard {...(part as { data: { command: string; toolCallId: string } }).data} parts={parts} />
      );
    case "data-sandbox-exit":
      return null;
    default:
      return (
        <details className="reasoning">
          <summary>{part.type.replace(/^data-/, "")}</summary>
          <pre className="code">{formatValue("data" in part ? part.data : part)}</pre>
        </details>
      );
  }
}

function reasoningText(part: Extract<Wire<MessagePart>, { type: "reasoning" }>): string {
  if (part.reasoning) return part.reasoning;
  return part.details
    .map((detail) => (detail.type === "text" ? detail.text : "(hidden by the provider)"))
    .join("");
}

/** What a reader would copy: the words, without tool calls and reasoning. */
function messageText({ parts }: ThreadMessage): string {
  return parts.flatMap((part) => (part.type === "text" && part.text !== "" ? [part.text] : [])).join("\n\n");
}
