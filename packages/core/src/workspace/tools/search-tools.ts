import { AgentError } from "../../errors.ts";
import { cutOutput } from "../cut-output.ts";
import { excerpt } from "../search/excerpt.ts";
import type { SearchMode } from "../search/search-index.ts";
import type { WorkspaceSearch } from "../search/workspace-search.ts";
import { fields, PATH, type WorkspaceTool } from "./tool-frame.ts";

const SEARCH_TOKENS = 4000;
const OUTPUT_TOKENS = 2000;

/** The tools of a workspace that has an index. */
export function searchTools(search: WorkspaceSearch): WorkspaceTool[] {
  return [searchTool(search), indexTool(search)] as WorkspaceTool[];
}

/** A tool of files that also updates the index. */
export function keepIndexed(tool: WorkspaceTool, search: WorkspaceSearch): WorkspaceTool {
  if (tool.readOnly) return tool;
  return {
    ...tool,
    async run(frame, input, options) {
      const result = await tool.run(frame, input, options);
      await search.noteChange((input as { path: string }).path);
      return result;
    },
  };
}

function searchTool(
  search: WorkspaceSearch,
): WorkspaceTool<{ query: string; topK?: number; mode?: SearchMode; minScore?: number }> {
  return {
    name: "search",
    description: "Search the indexed files of the workspace for passages about something.",
    category: "read",
    readOnly: true,
    idempotent: true,
    maxOutputTokens: SEARCH_TOKENS,
    inputSchema: fields(
      { query: { type: "string", minLength: 1, maxLength: 10_000 } },
      {
        topK: { type: "integer", minimum: 1, maximum: 100, default: 5 },
        mode: { type: "string", enum: ["bm25", "vector", "hybrid"] },
        minScore: { type: "number" },
      },
    ),
    async run({ maxOutputTokens }, { query, topK = 5, mode: wanted, minScore }) {
      const mode = availableMode(search, wanted);
      const found = await search.search(query, { topK, mode, ...(minScore !== undefined && { minScore }) });
      const lines = found.map(({ id, content, lineRange }) => {
        const { start, end, text } = excerpt(content, query, lineRange?.start ?? 1);
        return `${id}:${start}-${end}:\n${text}`;
      });
      const count = found.length === 1 ? "1 result" : `${found.length} results`;
      return cutOutput([`${count} (${mode})`, ...lines].join("\n\n"), maxOutputTokens);
    },
  };
}

function indexTool(
  search: WorkspaceSearch,
): WorkspaceTool<{ path: string; content: string; metadata?: Record<string, unknown> }> {
  return {
    name: "index",
    description: "Add a text to the search index of the workspace, under a path. No file is written.",
    category: "edit",
    readOnly: false,
    idempotent: true,
    maxOutputTokens: OUTPUT_TOKENS,
    inputSchema: fields(
      { path: PATH, content: { type: "string" } },
      { metadata: { type: "object", additionalProperties: true } },
    ),
    async run(_frame, { path, content, metadata }) {
      await search.index(path, content, metadata ? { metadata } : {});
      return `Indexed ${path} (${Buffer.byteLength(content).toLocaleString("en")} bytes).`;
    },
  };
}

/** A mode that is not configured falls back to the one that is. */
function availableMode(search: WorkspaceSearch, wanted: SearchMode | undefined): SearchMode {
  try {
    return search.modeOf(wanted);
  } catch (error) {
    if (!AgentError.is(error, "not-supported")) throw error;
    return search.modeOf(undefined);
  }
}
