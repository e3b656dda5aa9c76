import {
  type Client,
  isSpecType,
  type RequestOptions,
  SdkError,
  SdkErrorCode,
  type Tool as WireTool,
} from "@modelcontextprotocol/client";
import { compileSchema, type JsonSchema } from "@selvedge/core/tools";
import { danglingReferences } from "./check-references.ts";
import { offers } from "./connections.ts";

const MAX_PAGES = 64;
/** Per server. The model pays for tool descriptions at every step. */
const MAX_TOOLS = 1000;
const MAX_NAME_LENGTH = 128;
const MAX_SCHEMA_CHARACTERS = 100_000;
const RESERVED_NAMES = new Set(["__proto__", "constructor", "prototype"]);
const ANYTHING = {
  "~standard": { version: 1 as const, vendor: "selvedge", validate: (value: unknown) => ({ value }) },
};

/** The tools of a server, and what is wrong with those that cannot be used. */
export async function listWireTools(
  client: Client,
  options: RequestOptions,
): Promise<{ tools: WireTool[]; problems: string[] }> {
  const listed = offers(client, "tools") ? await listAll(client, options) : [];
  const tools: WireTool[] = [];
  const problems: string[] = [];
  if (listed.length > MAX_TOOLS)
    problems.push(`${listed.length - MAX_TOOLS} tools beyond the first ${MAX_TOOLS} were left out.`);
  for (const tool of listed.slice(0, MAX_TOOLS)) {
    const problem = await whatIsWrong(tool);
    if (problem === undefined) tools.push(tool as WireTool);
    else problems.push(problem);
  }
  return { tools, problems };
}

/** The library rejects a whole list because of one bad entry; in that case each entry is checked separately. */
async function listAll(client: Client, options: RequestOptions): Promise<unknown[]> {
  try {
    return (await client.listTools(undefined, { ...options, cacheMode: "refresh" })).tools;
  } catch (error) {
    if (!SdkError.isInstance(error) || error.code !== SdkErrorCode.InvalidResult) throw error;
  }
  const tools: unknown[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const params = cursor === undefined ? {} : { cursor };
    const result = (await client.request({ method: "tools/list", params }, ANYTHING, options)) as {
      tools?: unknown;
      nextCursor?: string;
    };
    if (Array.isArray(result.tools)) tools.push(...(result.tools as unknown[]));
    if (typeof result.nextCursor !== "string" || result.nextCursor === cursor) break;
    cursor = result.nextCursor;
  }
  return tools;
}

async function whatIsWrong(tool: unknown): Promise<string | undefined> {
  const { name, inputSchema } = (tool ?? {}) as { name?: unknown; inputSchema?: unknown };
  if (typeof name !== "string" || name === "") return "A tool without a name was left out.";
  if (name.length > MAX_NAME_LENGTH)
    return `Tool "${name.slice(0, 40)}…" was left out: its name has ${name.length} characters; the limit is ${MAX_NAME_LENGTH}.`;
  if (RESERVED_NAMES.has(name)) return `Tool "${name}" was left out: that name is not allowed.`;
  if (!isSpecType.Tool(tool))
    return `Tool "${name}" was left out: its definition is not one the protocol allows.`;
  const unusable = (why: string): string =>
    `Tool "${name}" was left out: its input schema is not usable (${why}).`;
  try {
    const size = JSON.stringify(inputSchema).length;
    if (size > MAX_SCHEMA_CHARACTERS)
      return unusable(`it has ${size} characters; the limit is ${MAX_SCHEMA_CHARACTERS}`);
    const dangling = danglingReferences(inputSchema as JsonSchema);
    if (dangling.length > 0) return unusable(`it refers to ${dangling.join(", ")}`);
    await compileSchema(inputSchema as JsonSchema).validate({});
    return undefined;
  } catch (error) {
    return unusable(error instanceof Error ? error.message : String(error));
  }
}
