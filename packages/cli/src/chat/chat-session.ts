import type { PermissionPolicy, ToolCategory } from "@selvedge/core/agent-controller";
import type { StoredChange } from "@selvedge/core/workspace";
import type {
  AgentControllerDisplayState,
  AgentControllerEventListener,
  AgentControllerMessage,
  AgentControllerMessageContent,
  AgentControllerThread,
} from "@selvedge/protocol/session";

type Done = Promise<unknown>;

/** What a chat needs of a session: one of this process and one of a server are the same to it. */
export interface ChatSession {
  subscribe(listener: AgentControllerEventListener): () => void;
  readonly displayState: { get(): AgentControllerDisplayState };
  readonly mode: { get(): string; switch(to: { modeId: string }): Done };
  readonly model: { get(): string; switch(to: { modelId: string }): Done };
  readonly state: { get(): Record<string, unknown>; set(updates: Record<string, unknown>): Done };
  readonly permissions: {
    getRules(): { categories: Record<string, string>; tools: Record<string, string> };
    getGrants(): { categories: string[]; tools: string[] };
    setForCategory(rule: { category: ToolCategory; policy: PermissionPolicy }): Done;
    setForTool(rule: { toolName: string; policy: PermissionPolicy }): Done;
    revoke(what: { categories?: ToolCategory[]; tools?: string[] }): Done;
  };
  readonly thread: {
    getId(): string | null;
    list(): Promise<AgentControllerThread[]>;
    create(options: { title?: string }): Promise<AgentControllerThread>;
    clone(options: { title?: string }): Promise<AgentControllerThread>;
    switch(to: { threadId: string; abort?: boolean }): Done;
    listActiveMessages(options: { limit: number }): Promise<AgentControllerMessage[]>;
  };
  readonly followUps: {
    list(): Promise<{ id: string; content: AgentControllerMessageContent[] }[]>;
    edit(change: { id: string; content: string }): Done;
    remove(what: { id: string }): Done;
    steer(id: string): Done;
  };
  /** Resolves when the message is stored. It joins the active run, or starts one. */
  steer(message: { content: string }): Promise<{ action: string }>;
  followUp(message: { content: string }): Promise<{ action: string }>;
  abort(): unknown;
  respondToToolApproval(answer: {
    toolCallId: string;
    decision: "approve" | "decline" | "always_allow_category";
  }): Done;
  respondToToolSuspension(answer: { toolCallId: string; resumeData: unknown }): Done;
}

/** What a chat needs of a workspace. */
interface ChatWorkspace {
  /** What the calls of a thread changed, oldest first. */
  changes(filter: { threadId: string }): Promise<StoredChange[]>;
  /** Puts back what a call changed. */
  undo(call: { toolCallId: string }): Promise<StoredChange>;
  /** What bounds commands. */
  bounds: string;
  /** The text of a file; empty if there is none. */
  read(path: string): Promise<string>;
  /** Skills that a person can start with `/name`. */
  skills(): Promise<readonly { name: string; description: string }[]>;
}

/** A session that is open for a chat. */
export interface OpenChat {
  session: ChatSession;
  /** Whom one talks to, and where, in a few words. */
  name: string;
  about: string;
  /** What stands before the name when the chat begins. */
  heading?: string;
  /** What is said when the person leaves. */
  farewell?: string;
  /** Present if the agent works on files here. */
  workspace?: ChatWorkspace;
  modes(): Promise<{ id: string; description?: string | undefined }[]>;
  models(): Promise<{ id: string; hasApiKey?: boolean }[]>;
  /** Tells when the connection to a server breaks, and when it is there again. */
  onConnection(listener: (state: "live" | "reconnecting") => void): void;
  close(): Promise<void>;
}
