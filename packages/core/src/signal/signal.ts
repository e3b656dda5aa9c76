import type { System } from "../system.ts";
import {
  type DataChunk,
  type JSONValue,
  type ProviderMetadata,
  SIGNAL_TYPES,
  type SignalType,
  type StoredMessage,
} from "@selvedge/protocol";
import { AgentError, errorMessage, showValue } from "../errors.ts";
import type { FilePart, TextPart } from "../message/message-input.ts";
import { toStoredMessages } from "../message/message-input.ts";
import type { ModelMessage } from "../message/model-message.ts";
import { checkId, checkMetadata } from "../storage/check-id.ts";
import { checkXmlName, renderSignal } from "../message/render-signal.ts";
import type { SignalRecord } from "@selvedge/protocol/session";

/** Types of older payloads, still accepted. */
type LegacySignalType = "user-message" | "system-reminder";

export type SignalContents = string | (TextPart | FilePart)[];
/** Validated contents: file data is text, so the signal is JSON. */
type JsonContents = string | (TextPart | JsonFilePart)[];
type JsonFilePart = FilePart & { data: string; mediaType: string };
export type SignalAttributes = Record<string, JSONValue | undefined>;

/** The input of `sendSignal()`. */
export interface SignalInput {
  type: SignalType | LegacySignalType;
  /** The XML tag the model sees. Default: the type; `system-reminder` for reactive signals. */
  tagName?: string;
  contents: SignalContents;
  attributes?: SignalAttributes;
  metadata?: Record<string, unknown>;
  providerOptions?: Record<string, Record<string, any>>;
  id?: string;
  createdAt?: Date | string | number;
}

/** A message by a person: `sendMessage()` and `queueMessage()`. */
export type MessageInput =
  | string
  | (TextPart | FilePart)[]
  | Pick<SignalInput, "contents" | "attributes" | "metadata" | "providerOptions" | "id">;

export interface SignalLimits {
  /** Maximum bytes of text in one signal, attributes included. */
  textBytes: number;
  /** Maximum bytes of file data in one signal. */
  fileBytes: number;
}

export const DEFAULT_SIGNAL_LIMITS: SignalLimits = { textBytes: 1 << 20, fileBytes: 32 << 20 };

const LEGACY: Record<LegacySignalType, { type: SignalType; tagName: string }> = {
  "user-message": { type: "user", tagName: "user" },
  "system-reminder": { type: "reactive", tagName: "system-reminder" },
};
const TYPES: ReadonlySet<string> = new Set(SIGNAL_TYPES);

/** The fields of a signal. */
type SignalFields = Omit<
  CreatedAgentSignal,
  "toDBMessage" | "toLLMMessage" | "toDataPart" | "toJSON" | "with"
>;

/**
 * Something that entered a thread, with three projections: stored, for the model, and as an echo on the stream. It is
 * immutable; `with` makes a changed copy.
 */
export class CreatedAgentSignal {
  readonly id: string;
  readonly type: SignalType;
  readonly tagName: string;
  readonly contents: JsonContents;
  readonly attributes: Record<string, JSONValue> | undefined;
  readonly metadata: Record<string, unknown> | undefined;
  readonly providerOptions: ProviderMetadata | undefined;
  readonly createdAt: Date;
  readonly acceptedAt: Date | undefined;
  #known: SignalRecord | undefined;

  constructor(fields: SignalFields) {
    this.id = fields.id;
    this.type = fields.type;
    this.tagName = fields.tagName;
    this.contents = fields.contents;
    this.attributes = fields.attributes;
    this.metadata = fields.metadata;
    this.providerOptions = fields.providerOptions;
    this.createdAt = fields.createdAt;
    this.acceptedAt = fields.acceptedAt;
  }

  /** A copy with these fields changed. */
  with(changes: Partial<SignalFields>): CreatedAgentSignal {
    return new CreatedAgentSignal(Object.assign({}, this, changes));
  }

  toDBMessage(target: { threadId?: string; resourceId?: string } = {}): StoredMessage {
    const [message] = toStoredMessages([{ id: this.id, role: "user", content: this.contents }], {
      newId: () => this.id,
      now: () => this.createdAt.getTime(),
    });
    return {
      ...(message as StoredMessage),
      ...target,
      role: "signal",
      type: this.tagName,
      content: {
        ...(message as StoredMessage).content,
        metadata: { signal: { ...this.#record() } },
        ...(this.providerOptions && { providerMetadata: this.providerOptions }),
      },
    };
  }

  toLLMMessage(): ModelMessage {
    return renderSignal(this.toDBMessage().content, this.#record());
  }

  toDataPart(): Pick<DataChunk, "type" | "data" | "transient"> {
    return {
      type: this.type === "user" ? "data-user-message" : "data-signal",
      data: {
        ...this.#record(),
        contents: this.contents,
        ...(this.providerOptions && { providerOptions: this.providerOptions }),
      },
      transient: true,
    };
  }

  toJSON(): SignalRecord & { contents: JsonContents; providerOptions?: ProviderMetadata } {
    return {
      ...this.#record(),
      contents: this.contents,
      ...(this.providerOptions && { providerOptions: this.providerOptions }),
    };
  }

  #record(): SignalRecord {
    return (this.#known ??= {
      id: this.id,
      type: this.type,
      tagName: this.tagName,
      createdAt: this.createdAt.toISOString(),
      ...(this.acceptedAt && { acceptedAt: this.acceptedAt.toISOString() }),
      ...(this.attributes && { attributes: this.attributes }),
      ...(this.metadata && { metadata: this.metadata }),
    });
  }
}

/** Validates a signal and gives it an id. Throws before anything is stored. */
export function createSignal(
  input: SignalInput,
  make: Pick<System, "newId" | "now">,
  limits: SignalLimits = DEFAULT_SIGNAL_LIMITS,
): CreatedAgentSignal {
  if (typeof input !== "object" || input === null)
    throw bad(`A signal must be an object, got ${showValue(input)}.`);
  const known = typeof input.type === "string" && Object.hasOwn(LEGACY, input.type);
  const legacy = known ? LEGACY[input.type as LegacySignalType] : undefined;
  const type = (legacy?.type ?? input.type) as SignalType;
  if (!TYPES.has(type)) {
    throw bad(
      `Unknown signal type ${showValue(input.type)}. Use ${SIGNAL_TYPES.join(", ")}, and tagName for your own XML tag.`,
    );
  }
  const tagName = input.tagName ?? legacy?.tagName ?? (type === "reactive" ? "system-reminder" : type);
  checkXmlName("tagName", tagName);
  const attributes = cleanAttributes(input.attributes);
  if (input.metadata !== undefined) checkMetadata("metadata", input.metadata);
  const now = new Date(make.now());
  const signal = new CreatedAgentSignal({
    id: input.id === undefined ? make.newId({ idType: "message" }) : checkId("signal.id", input.id),
    type,
    tagName,
    contents: checkContents(input.contents),
    attributes,
    metadata: toJson("metadata", input.metadata),
    providerOptions: cleanProviderOptions(input.providerOptions),
    createdAt: input.createdAt === undefined ? now : toDate(input.createdAt),
    acceptedAt: now,
  });
  checkSize(signal, limits);
  return signal;
}

/** A person's message as a signal. */
export function messageToSignal(message: MessageInput): SignalInput {
  const base = { type: "user", tagName: "user" } as const;
  if (typeof message === "string" || Array.isArray(message)) return { ...base, contents: message };
  if (typeof message !== "object" || message === null)
    throw bad(`A message must be a string, parts or { contents }, got ${showValue(message)}.`);
  const { contents, attributes, metadata, providerOptions, id } = message;
  return {
    ...base,
    contents,
    ...(attributes && { attributes }),
    ...(metadata && { metadata }),
    ...(providerOptions && { providerOptions }),
    ...(id !== undefined && { id }),
  };
}

/** Restores a signal that was stored or sent over a wire. */
export function reviveSignal(json: ReturnType<CreatedAgentSignal["toJSON"]>): CreatedAgentSignal {
  return new CreatedAgentSignal({
    id: json.id,
    type: json.type,
    tagName: json.tagName,
    contents: json.contents,
    attributes: json.attributes,
    metadata: json.metadata,
    providerOptions: json.providerOptions,
    createdAt: new Date(json.createdAt),
    acceptedAt: json.acceptedAt === undefined ? undefined : new Date(json.acceptedAt),
  });
}

/** Attributes without empty values. Names are checked; values must be JSON. */
export function cleanAttributes(
  attributes: SignalAttributes | undefined,
): Record<string, JSONValue> | undefined {
  if (attributes === undefined) return undefined;
  checkMetadata("attributes", attributes);
  const clean: Record<string, JSONValue> = {};
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null) continue;
    checkXmlName("attribute", name);
    const json = toJson(`attribute "${name}"`, value) as JSONValue;
    if (json !== null) clean[name] = json;
  }
  return Object.keys(clean).length > 0 ? clean : undefined;
}

function checkContents(contents: unknown): JsonContents {
  if (typeof contents === "string") return contents.toWellFormed();
  if (!Array.isArray(contents))
    throw bad(`contents must be a string or an array of text and file parts, got ${showValue(contents)}.`);
  return contents.map((part: TextPart | FilePart) => {
    if (part?.type === "text" && typeof part.text === "string")
      return { type: "text", text: part.text.toWellFormed(), ...partOptions(part) };
    if (part?.type === "file") return toFile(part);
    throw bad(`contents accepts only text and file parts, got ${showValue(part)}.`);
  });
}

function partOptions(part: TextPart | FilePart): { providerOptions?: ProviderMetadata } {
  const providerOptions = cleanProviderOptions(part.providerOptions);
  return providerOptions ? { providerOptions } : {};
}

/** Options by provider, as JSON. */
function cleanProviderOptions(options: unknown): ProviderMetadata | undefined {
  if (options === undefined || options === null) return undefined;
  for (const [provider, own] of Object.entries(checkMetadata("providerOptions", options)))
    if (own !== undefined) checkMetadata(`providerOptions.${provider}`, own);
  return toJson("providerOptions", options) as ProviderMetadata;
}

function toDate(value: Date | string | number): Date {
  const known = value instanceof Date || typeof value === "string" || typeof value === "number";
  const date = new Date(known ? value : Number.NaN);
  if (Number.isNaN(date.getTime())) throw bad(`createdAt must be a date, got ${showValue(value)}.`);
  return date;
}

/** File data as text, so that the signal is JSON. */
function toFile(part: FilePart): JsonFilePart {
  const [message] = toStoredMessages([{ role: "user", content: [part] }], {
    newId: () => "file",
    now: () => 0,
  });
  const stored = message?.content.parts[0] as { data: string; mimeType: string; filename?: string };
  return {
    type: "file",
    data: stored.data,
    mediaType: stored.mimeType,
    ...(stored.filename !== undefined && { filename: stored.filename }),
    ...partOptions(part),
  };
}

function checkSize(signal: CreatedAgentSignal, limits: SignalLimits): void {
  const parts =
    typeof signal.contents === "string"
      ? [{ type: "text" as const, text: signal.contents }]
      : signal.contents;
  const { attributes, metadata, providerOptions } = signal;
  let text = jsonBytes(attributes) + jsonBytes(metadata) + jsonBytes(providerOptions);
  let files = 0;
  for (const part of parts) {
    text += jsonBytes(part.providerOptions);
    if (part.type === "text") text += Buffer.byteLength(part.text);
    else files += part.data.length;
  }
  if (text > limits.textBytes) {
    throw new AgentError(
      "limit-exceeded",
      `The message has ${text} bytes of text; the limit is ${limits.textBytes}.`,
    );
  }
  if (files > limits.fileBytes) {
    throw new AgentError(
      "limit-exceeded",
      `The message has ${files} bytes of file data; the limit is ${limits.fileBytes}.`,
    );
  }
}

function jsonBytes(value: unknown): number {
  return value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value));
}

function toJson<Value>(name: string, value: Value): Value {
  if (value === undefined) return value;
  try {
    return JSON.parse(JSON.stringify(value)) as Value;
  } catch (cause) {
    throw new AgentError("invalid-argument", `${name} is not JSON: ${errorMessage(cause)}`, { cause });
  }
}

function bad(message: string): AgentError {
  return new AgentError("invalid-argument", message);
}
