/**
 * Declarations for names that blocks use without saying where they come from: in every document, and by document.
 * A declaration may use names that stand below it.
 */
export const FREE_NAMES: Record<string, Record<string, string>> = {
  all: {
    agent: `declare const agent: Agent;`,
    myAgent: `declare const myAgent: Agent;`,
    supportAgent: `declare const supportAgent: Agent;`,
    Agent: `import { Agent } from "@mastra/core/agent";`,
    Mastra: `import { Mastra } from "@mastra/core";`,
    createTool: `import { createTool } from "@mastra/core/tools";`,
    RequestContext: `import { RequestContext } from "@mastra/core/request-context";`,
    RuntimeContext: `import { RuntimeContext } from "@mastra/core/runtime-context";`,
    openai: `import { openai } from "@ai-sdk/openai";`,
  },

  2: {
    client: `declare const client: import("@mastra/client-js").MastraClient;`,
    storage: `declare const storage: import("@mastra/libsql").LibSQLStore;`,

    findAgentsMdPathFromToolCalls: `declare function findAgentsMdPathFromToolCalls(messages: Messages): string | undefined;`,
    hasAlreadySentAgentsMdReminder: `declare function hasAlreadySentAgentsMdReminder(messages: Messages, path: string): boolean;`,
    readAgentsMdInstructions: `declare function readAgentsMdInstructions(path: string): string;`,
    Messages: `type Messages = ReturnType<ProcessInputStepArgs["messageList"]["get"]["all"]["db"]>;`,

    readCurrentBrowserState: `declare function readCurrentBrowserState(): BrowserState;`,
    readMostRecentBrowserState: `declare function readMostRecentBrowserState(signals: ComputeStateSignalArgs["activeStateSignals"]): BrowserState | undefined;`,
    diffBrowserState: `declare function diffBrowserState(from: BrowserState, to: BrowserState): Partial<BrowserState>;`,
    stableBrowserStateCacheKey: `declare function stableBrowserStateCacheKey(state: BrowserState): string;`,
    describeBrowserDelta: `declare function describeBrowserDelta(delta: Partial<BrowserState>): string;`,
    describeBrowserSnapshot: `declare function describeBrowserSnapshot(state: BrowserState): string;`,
    BrowserState: `interface BrowserState { activeUrl: string; tabCount: number; open: boolean }`,

    controller: `declare const controller: ReadableStreamDefaultController<Uint8Array>;`,
    encoder: `declare const encoder: TextEncoder;`,
    request: `declare const request: Request;`,
  },

  3: {
    prompt: `declare const prompt: string;`,
    mcp: `declare const mcp: MCPClient;`,
    mcpClient: `declare const mcpClient: MCPClient;`,
    collectUserInput: `declare function collectUserInput(schema: object): Promise<Record<string, string>>;`,
    promptUser: `declare function promptUser(question: object): Promise<string | null>;`,
    MCPClient: `import { MCPClient } from "@mastra/mcp";`,

    server: `declare const server: MCPServer;`,
    serverWithResources: `declare const serverWithResources: MCPServer;`,
    serverWithPrompts: `declare const serverWithPrompts: MCPServer;`,
    PORT: `declare const PORT: number;`,
    MCPServer: `import { MCPServer } from "@mastra/mcp";`,
    http: `import http from "node:http";`,
    httpServer: `declare const httpServer: { createServer(handle: (req: import("node:http").IncomingMessage & { auth?: unknown }, res: import("node:http").ServerResponse) => void): unknown };`,
    validateAuthToken: `declare function validateAuthToken(header: string | undefined): unknown;`,
    url: `declare const url: URL;`,
    httpPath: `declare const httpPath: string;`,
    ...namedTypes("@mastra/mcp", [
      "MCPClientOptions",
      "MCPServerPrompts",
      "MCPServerResources",
      "Prompt",
      "PromptMessage",
      "ReadResourceResult",
      "Resource",
      "ResourceTemplate",
      "SSEServerTransport",
      "SSETransport",
      "ServerDetail",
      "ServerInfo",
      "StdioServerTransport",
      "StreamableHTTPServerTransport",
      "StreamableHTTPServerTransportOptions",
      "ToolInfo",
      "ToolListInfo",
    ]),

    longDocumentContent: `declare const longDocumentContent: string;`,
    MDocument: `import { MDocument } from "@mastra/rag";`,
    createDocumentChunkerTool: `import { createDocumentChunkerTool } from "@mastra/rag";`,
    createGraphRAGTool: `import { createGraphRAGTool } from "@mastra/rag";`,
    createVectorQueryTool: `import { createVectorQueryTool } from "@mastra/rag";`,
    ...namedTypes("@mastra/rag", ["DatabaseConfig", "QueryResult"]),
    ...namedTypes("@mastra/core/vector", ["VectorFilter"]),
  },

  4: {
    session: `declare const session: Awaited<ReturnType<AgentController["createSession"]>>;`,
    myWorkspace: `declare const myWorkspace: NonNullable<ReturnType<AgentController["getWorkspace"]>>;`,
    myBrowser: `declare const myBrowser: NonNullable<Parameters<AgentController["createSession"]>[0]["browser"]>;`,
    agentController: `declare const agentController: AgentController;`,
    AgentController: `import { AgentController } from "@mastra/core/agent-controller";`,
    ...namedTypes("@mastra/core/agent-controller", ["AgentControllerSubagent"]),
    event: `declare const event: { toolCallId: string };`,
    render: `declare function render(state: object): void;`,
    renderMessage: `declare function renderMessage(message: object): void;`,
    showApprovalPrompt: `declare function showApprovalPrompt(toolName: string): void;`,
  },
};

function namedTypes(specifier: string, names: string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, `import type { ${name} } from "${specifier}";`]));
}
