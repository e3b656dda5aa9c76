import type { Logger, System } from "@selvedge/core";
import type { CallGuard } from "./call-tool.ts";
import type { Converse } from "./conversation.ts";
import type { ServedTool } from "./served-tool.ts";
import type { MCPServerConfig } from "./server-config.ts";

/** What the handlers of one connection need. */
export interface ServerParts {
  config: MCPServerConfig;
  tools: ReadonlyMap<string, ServedTool>;
  converse: Converse;
  guard: CallGuard;
  logger: Logger;
  system: System;
  newId(): string;
  /** Whether the caller is the parent process. HTTP callers are not trusted unless their `authInfo` says so. */
  isParent: boolean;
}
