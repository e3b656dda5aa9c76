import { isObject } from "@selvedge/protocol";
import { AgentError } from "@selvedge/core";
import type { ClientTool, RunOptions } from "@selvedge/protocol/routes";
import type { Principal } from "../caller.ts";

type Json = Record<string, unknown>;

/** Converts messages of OpenAI's chat completions. */
export function fromChatMessages(messages: readonly Json[]): Json[] {
  return messages.map((message) => {
    const { role } = message;
    if (role === "system" || role === "developer")
      return { role: "system", content: plainText(message["content"]) };
    if (role === "user") return { role, content: toParts(message["content"]) };
    if (role === "tool") return toolResult(message["tool_call_id"], plainText(message["content"]));
    if (role !== "assistant")
      throw new AgentError(
        "invalid-argument",
        `body.messages: the role ${JSON.stringify(role)} is not known.`,
      );
    const calls = objects("tool_calls", message["tool_calls"] ?? []);
    const text = plainText(message["content"] ?? "");
    return {
      role,
      content: [
        ...(text === "" ? [] : [{ type: "text", text }]),
        ...calls.map((call) => {
          const { name, arguments: input } = Object(call["function"]) as {
            name?: unknown;
            arguments?: unknown;
          };
          return toolCall(call["id"], name, input);
        }),
      ],
    };
  });
}

/** Converts items of OpenAI's responses. `calls` are those that earlier responses asked for. */
export function fromResponseInput(
  input: string | readonly Json[],
  calls: ReadonlyMap<string, { toolName: string }>,
): (string | Json)[] {
  if (typeof input === "string") return [input];
  const here = new Set(input.flatMap(({ type, call_id: id }) => (type === "function_call" ? [id] : [])));
  return input.map((item) => {
    if (item["type"] === "function_call_output") {
      const { call_id: id } = item;
      const name = here.has(id) ? "" : calls.get(String(id))?.toolName;
      if (name === undefined)
        throw new AgentError(
          "invalid-argument",
          `There is no function call ${JSON.stringify(id)} to answer.`,
        );
      return toolResult(id, plainText(item["output"]), name);
    }
    if (item["type"] === "function_call")
      return { role: "assistant", content: [toolCall(item["call_id"], item["name"], item["arguments"])] };
    return fromChatMessages([item])[0] as Json;
  });
}

/** Parameters that would change the form of the response, which is not supported: whether a value requests that. */
const NOT_GIVEN: Record<string, (value: unknown) => boolean> = {
  audio: () => true,
  background: (value) => value === true,
  functions: (value) => !Array.isArray(value) || value.length > 0,
  logprobs: (value) => value !== false,
  modalities: (value) => !Array.isArray(value) || value.some((modality) => modality !== "text"),
  n: (value) => value !== 1,
  prompt: () => true,
};

/** Refuses a request for another response form. Model settings that only affect the text are ignored. */
export function checkForm(body: Json): void {
  for (const [name, isAsked] of Object.entries(NOT_GIVEN)) {
    const value = body[name];
    if (value === undefined || value === null || !isAsked(value)) continue;
    const shown = JSON.stringify(value).slice(0, 100);
    throw new AgentError("invalid-argument", `body.${name}: ${shown} is not supported here. Leave it out.`);
  }
}

/** Options that OpenAI's clients send. Model settings apply only for callers who may choose them. */
export function toOptions(body: Json, caller: Principal): RunOptions {
  const tools = toTools(body["tools"]);
  const format = Object(body["response_format"] ?? Object(body["text"] as unknown)["format"]) as Json;
  const schema = (Object(format["json_schema"]) as Json)["schema"] ?? format["schema"];
  const { temperature, instructions } = body;
  return {
    ...(typeof instructions === "string" && { system: instructions }),
    ...(tools && { clientTools: tools }),
    ...toolChoice(body["tool_choice"]),
    ...(format["type"] === "json_schema" && isObject(schema) && { structuredOutput: { schema } }),
    ...(caller.has("run-options") && typeof temperature === "number" && { temperature }),
  };
}

function toTools(tools: unknown): Record<string, ClientTool> | undefined {
  if (!Array.isArray(tools) || tools.length === 0) return undefined;
  return Object.fromEntries(
    objects("tools", tools).map((tool) => {
      const definition = (isObject(tool["function"]) ? tool["function"] : tool) as Json;
      const { name, description, parameters } = definition;
      if (tool["type"] !== "function" || typeof name !== "string" || name === "__proto__")
        throw new AgentError(
          "not-supported",
          `Tools of the type ${JSON.stringify(tool["type"])} are not supported.`,
        );
      if (parameters !== undefined && parameters !== null && !isObject(parameters))
        throw new AgentError(
          "invalid-schema",
          `The parameters of the tool "${name}" must be a JSON Schema object.`,
        );
      return [
        name,
        {
          description: typeof description === "string" ? description : "",
          inputSchema: isObject(parameters) ? parameters : { type: "object" },
        },
      ];
    }),
  );
}

function toolChoice(choice: unknown): Pick<RunOptions, "toolChoice"> {
  if (choice === "auto" || choice === "none" || choice === "required") return { toolChoice: choice };
  const { name } = Object(isObject(choice) ? (choice["function"] ?? choice) : undefined) as {
    name?: unknown;
  };
  return typeof name === "string" ? { toolChoice: { type: "tool", toolName: name } } : {};
}

function toParts(content: unknown): string | Json[] {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) throw new AgentError("invalid-argument", "body: a message has no content.");
  return objects("content", content).map((part) => {
    if (typeof part["text"] === "string") return { type: "text", text: part["text"] };
    const image = part["image_url"];
    const url = isObject(image) ? image["url"] : image;
    if (typeof url === "string") return { type: "file", data: url, mediaType: mediaTypeOf(url) };
    const file = Object(part["file"] ?? part) as Json;
    if (typeof file["file_data"] === "string")
      return { type: "file", data: file["file_data"], mediaType: mediaTypeOf(file["file_data"]) };
    throw new AgentError(
      "not-supported",
      `Content of the type ${JSON.stringify(part["type"])} is not supported.`,
    );
  });
}

function mediaTypeOf(url: string): string {
  return /^data:([^;,]{1,100})[;,]/.exec(url)?.[1] ?? "image/*";
}

function plainText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return objects("content", content)
    .map((part) => (typeof part["text"] === "string" ? part["text"] : ""))
    .join("\n");
}

function toolCall(id: unknown, name: unknown, input: unknown): Json {
  if (typeof id !== "string" || typeof name !== "string")
    throw new AgentError("invalid-argument", "body: a tool call needs an id and a name.");
  return { type: "tool-call", toolCallId: id, toolName: name, input: parse(input) };
}

function toolResult(id: unknown, text: string, toolName = ""): Json {
  if (typeof id !== "string")
    throw new AgentError("invalid-argument", "body: a tool result needs the id of its call.");
  return {
    role: "tool",
    content: [{ type: "tool-result", toolCallId: id, toolName, output: { type: "text", value: text } }],
  };
}

function parse(text: unknown): unknown {
  try {
    return JSON.parse(String(text)) as unknown;
  } catch {
    return {};
  }
}

function objects(name: string, value: unknown): Json[] {
  if (Array.isArray(value) && value.every(isObject)) return value;
  throw new AgentError("invalid-argument", `body: ${name} must be a list of objects.`);
}
