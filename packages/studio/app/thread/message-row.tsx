import type { MessagePart } from "@selvedge/protocol";
import type { Wire } from "@selvedge/protocol/routes";
import type { ThreadMessage } from "@selvedge/react";
import { memo, type ReactNode } from "react";
import { formatShort, formatValue } from "../format.ts";
import { Markdown } from "../markdown/markdown.tsx";
import { safeHref } from "../markdown/safe-href.ts";
import { Badge } from "../ui/badge.tsx";
import { Time } from "../ui/time.tsx";
import { toSender } from "./sender.ts";
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
          {message.state === "waiting" && <Badge tone="amber">accepted, joins at the next step</Badge>}
          {message.state === "failed" && <Badge tone="red">not sent</Badge>}
          {incomplete && <Badge>stopped</Badge>}
        </div>
        <div className="message-body">
          {message.parts.map((part, index) => (
            <Part key={index} part={part} plain={sender.kind !== "agent"} />
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

function Part({ part, plain }: { part: Wire<MessagePart>; plain: boolean }): ReactNode {
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

function FilePart({
  data,
  mimeType,
  filename,
}: {
  data: string;
  mimeType: string;
  filename: string | undefined;
}): ReactNode {
  const name = filename ?? mimeType;
  // Only bytes that are here are drawn; an address elsewhere would be an outside call.
  const inline =
    /^(data:|[a-z0-9+/=]+$)/i.test(data.slice(0, 64)) && /^image\/(png|jpe?g|gif|webp)$/.test(mimeType);
  if (!inline) return <p className="small muted">File: {name}</p>;
  return (
    <img
      className="picture"
      src={data.startsWith("data:") ? data : `data:${mimeType};base64,${data}`}
      alt={name}
    />
  );
}
