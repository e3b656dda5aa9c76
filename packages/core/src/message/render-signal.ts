import type { JSONValue, MessageContent, ProviderMetadata, SignalType } from "@selvedge/protocol";
import { AgentError, showValue } from "../errors.ts";
import type { ModelMessage } from "./model-message.ts";
import { userContent } from "./user-content.ts";
import type { SignalRecord } from "@selvedge/protocol/session";

const XML_NAME = /^[A-Za-z_][A-Za-z0-9_.-]{0,99}$/;

function isXmlName(name: unknown): name is string {
  return typeof name === "string" && XML_NAME.test(name);
}

/**
 * Names that appear in XML are checked when a signal is sent. A row stored by other means is checked when it is read.
 */
export function checkXmlName(what: string, name: unknown): void {
  if (isXmlName(name)) return;
  throw new AgentError(
    "invalid-argument",
    `${what} ${showValue(name)} is not a valid name: use letters, digits, "_", "." and "-", starting with a letter or "_".`,
  );
}

/**
 * What the model reads for a signal: a person's text unchanged if it has no attributes; otherwise one XML element
 * around every text part.
 */
export function renderSignal(
  content: MessageContent,
  signal: Pick<SignalRecord, "type" | "tagName" | "attributes">,
): ModelMessage {
  const parts = userContent(content);
  const options = content.providerMetadata && {
    providerOptions: content.providerMetadata as ProviderMetadata,
  };
  if (signal.type === "user" && !signal.attributes) return { role: "user", content: parts, ...options };
  const tag = safeTag(signal);
  const attributes = safeAttributes(signal.attributes)
    .map(([name, value]) => ` ${name}="${escapeAttribute(value)}"`)
    .join("");
  const open = `<${tag}${attributes}>`;
  const close = `</${tag}>`;
  const texts = parts.filter((part) => part.type === "text");
  const body = texts.map((part) => part.text).join("\n");
  if (body === "") {
    const marker = { type: "text" as const, text: `<${tag}${attributes} />` };
    return { role: "user", content: [marker, ...parts.filter((part) => part.type !== "text")], ...options };
  }
  if (texts.length === parts.length && !texts.some((part) => part.providerOptions)) {
    return {
      role: "user",
      content: [{ type: "text", text: `${open}${escapeText(body)}${close}` }],
      ...options,
    };
  }
  const [first, last] = [texts[0], texts.at(-1)];
  const wrapped = parts.map((part) => {
    if (part.type !== "text") return part;
    return {
      ...part,
      text: `${part === first ? open : ""}${escapeText(part.text)}${part === last ? close : ""}`,
    };
  });
  return { role: "user", content: wrapped, ...options };
}

const TAG_OF: Readonly<Record<SignalType, string>> = {
  user: "user",
  state: "state",
  reactive: "system-reminder",
  notification: "notification",
};

/** The tag of a signal, or that of its type if the stored tag is invalid. */
function safeTag({ type, tagName }: Pick<SignalRecord, "type" | "tagName">): string {
  if (isXmlName(tagName)) return tagName;
  return Object.hasOwn(TAG_OF, type) ? TAG_OF[type] : "signal";
}

function safeAttributes(attributes: unknown): [string, JSONValue][] {
  if (typeof attributes !== "object" || attributes === null || Array.isArray(attributes)) return [];
  return Object.entries(attributes as Record<string, JSONValue | undefined>).filter(
    (entry): entry is [string, JSONValue] => isXmlName(entry[0]) && entry[1] !== undefined,
  );
}

const ESCAPES: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "\n": "&#10;",
  "\t": "&#9;",
  "\r": "&#13;",
};
// Characters that XML 1.0 cannot represent.
const NOT_XML = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/g;

function escapeAttribute(value: JSONValue): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text
    .toWellFormed()
    .replace(NOT_XML, "")
    .replace(/[&<>"\n\t\r]/g, (character) => ESCAPES[character] as string);
}

/** Text inside an XML element. */
export function escapeText(text: string): string {
  return text
    .toWellFormed()
    .replace(NOT_XML, "")
    .replace(/[&<>\r]/g, (character) => ESCAPES[character] as string);
}
