import { AgentError } from "@selvedge/core/errors";
import {
  compileSchema,
  createTool,
  type JsonSchema,
  type Tool,
  type ToolExecutionOptions,
} from "@selvedge/core/tools";
import type { WorkingMemorySettings } from "./memory-settings.ts";
import { isObject } from "@selvedge/protocol";
import { mergePatch, toPatchSchema } from "./merge-patch.ts";
import type { WorkingMemoryPlace, WorkingMemoryStore } from "./working-memory-store.ts";

export const WORKING_MEMORY_TOOL = "updateWorkingMemory";

/** The tool that lets the model maintain its working memory. The model cannot choose a place. */
export function workingMemoryTool(options: {
  store: WorkingMemoryStore;
  settings: WorkingMemorySettings;
  /** Default: that of the thread on which the tool is called. */
  place?: WorkingMemoryPlace;
  inputSchema: JsonSchema;
}): Tool {
  const { store, settings, place, inputSchema } = options;
  return createTool({
    id: WORKING_MEMORY_TOOL,
    description:
      settings.schema === undefined
        ? "Replaces your working memory with a new Markdown text. Keep everything that is still true."
        : "Changes your working memory: the given keys are merged into it, null removes a key.",
    inputSchema,
    // Writing the same text twice changes nothing.
    idempotent: true,
    execute: async ({ context }, { agent }) => {
      const at = place ?? (await placeOfCall(options, agent));
      await store.update(at, (current) => nextMemory(settings, current, context.memory));
      return { success: true };
    },
  });
}

async function placeOfCall(
  { store, settings }: { store: WorkingMemoryStore; settings: WorkingMemorySettings },
  agent: ToolExecutionOptions["agent"],
): Promise<WorkingMemoryPlace> {
  const { threadId, resourceId } = agent ?? {};
  const place =
    threadId === undefined ? undefined : await store.locate(settings.scope, { threadId, resourceId });
  if (place) return place;
  throw new AgentError(
    "not-found",
    `${WORKING_MEMORY_TOOL} was called without a stored thread, so there is no working memory to change. Run the agent with memory: { thread, resource }.`,
  );
}

const TEXT_INPUT: JsonSchema = {
  type: "object",
  properties: { memory: { type: "string" } },
  required: ["memory"],
  additionalProperties: false,
};

/** The tool's input: `{ memory }`, a text or a patch to an object of the configured schema. */
export function workingMemoryInput(schema: WorkingMemorySettings["schema"]): JsonSchema {
  if (schema === undefined) return TEXT_INPUT;
  // References inside the schema point to its root, which is now here.
  const { $schema: _, $defs, definitions, ...json } = compileSchema(schema).jsonSchema;
  if (json["type"] !== "object") {
    throw new AgentError(
      "invalid-schema",
      `workingMemory.schema must describe an object, got type ${JSON.stringify(json["type"])}.`,
    );
  }
  return {
    ...TEXT_INPUT,
    properties: { memory: toPatchSchema(json) },
    ...($defs !== undefined && { $defs }),
    ...(definitions !== undefined && { definitions }),
  };
}

function nextMemory(settings: WorkingMemorySettings, current: string | null, memory: unknown): string {
  if (settings.schema === undefined) return String(memory);
  if (!isObject(memory)) {
    throw new AgentError(
      "tool-input-invalid",
      `memory must be an object with the keys to change, got ${typeof memory}.`,
    );
  }
  return JSON.stringify(mergePatch(readMemory(current), memory));
}

/** An older memory of another kind cannot be merged into; it is replaced. */
function readMemory(current: string | null): Record<string, unknown> {
  try {
    return parseMemory(current ?? "{}");
  } catch {
    return {};
  }
}

/** The object of a working memory with a schema. */
export function parseMemory(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (isObject(value)) return value;
  throw new AgentError(
    "invalid-argument",
    `This working memory is a JSON object, got ${JSON.stringify(text).slice(0, 100)}.`,
  );
}
