import { notYet, onPurpose, type Probes } from "../probe.ts";

/** Names that public projects import, by module. */
const NAMES: Record<string, string[]> = {
  "@mastra/core": ["Mastra"],
  "@mastra/core/agent": ["Agent", "MessageList", "TripWire", "convertMessages"],
  "@mastra/core/mastra": ["Mastra"],
  "@mastra/core/tools": ["createTool", "Tool", "isVercelTool"],
  "@mastra/core/request-context": ["RequestContext", "MASTRA_RESOURCE_ID_KEY", "MASTRA_THREAD_ID_KEY"],
  "@mastra/core/di": ["RequestContext"],
  "@mastra/core/llm": ["ModelRouterEmbeddingModel", "ModelRouterLanguageModel"],
  "@mastra/core/memory": ["MastraMemory"],
  "@mastra/core/processors": [
    "ModerationProcessor",
    "PIIDetector",
    "PromptInjectionDetector",
    "LanguageDetector",
    "TokenLimiterProcessor",
    "UnicodeNormalizer",
    "BatchPartsProcessor",
    "SystemPromptScrubber",
    "StructuredOutputProcessor",
    "ToolCallFilter",
    "ToolSearchProcessor",
  ],
  "@mastra/core/storage": ["MastraCompositeStore", "InMemoryStore"],
  "@mastra/core/vector": ["MastraVector"],
  "@mastra/core/error": ["MastraError", "ErrorCategory", "ErrorDomain"],
  "@mastra/core/logger": ["ConsoleLogger", "LogLevel", "MastraLogger", "createLogger", "noopLogger"],
  "@mastra/core/server": ["registerApiRoute", "defineAuth", "SimpleAuth", "MastraAuthProvider"],
  "@mastra/core/stream": ["ChunkFrom", "MastraModelOutput"],
  "@mastra/core/signals": [
    "createSignal",
    "isSignalProvider",
    "SignalProvider",
    "TaskSignalProvider",
    "WebhookSignalProvider",
  ],
  "@mastra/core/workflows": ["createWorkflow", "createStep"],
  "@mastra/core/workspace": ["Workspace", "LocalFilesystem", "LocalSandbox", "WORKSPACE_TOOLS"],
  "@mastra/memory": ["Memory"],
  "@mastra/memory/processors": ["ObservationalMemory"],
  "@mastra/libsql": ["LibSQLStore", "LibSQLVector", "LIBSQL_PROMPT"],
  "@mastra/mcp": ["MCPClient", "MCPServer"],
  "@mastra/rag": [
    "MDocument",
    "createVectorQueryTool",
    "createGraphRAGTool",
    "createDocumentChunkerTool",
    "rerank",
    "GraphRAG",
    "Language",
  ],
  "@mastra/loggers": ["PinoLogger"],
  "@mastra/observability": [
    "Observability",
    "DefaultExporter",
    "CloudExporter",
    "ConsoleExporter",
    "SensitiveDataFilter",
    "SamplingStrategyType",
  ],
  "@mastra/client-js": ["MastraClient"],
};

const DIFFERENT: Record<string, string> = {
  "@mastra/core/memory": "MastraMemory is a type: a memory is any object with its methods.",
};

const MISSING: Record<string, string> = {};

export const probes: Probes = Object.fromEntries(
  Object.entries(NAMES).map(([specifier, names]) => {
    const run = async () => {
      const module = (await import(specifier)) as Record<string, unknown>;
      return names.map((name) => `${name}: ${module[name] === undefined ? "absent" : "present"}`);
    };
    const [different, missing] = [DIFFERENT[specifier], MISSING[specifier]];
    return [specifier, different ? onPurpose(different, run) : missing ? notYet(missing, run) : run];
  }),
);
