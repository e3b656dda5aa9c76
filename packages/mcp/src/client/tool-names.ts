import { AgentError } from "@selvedge/core";
import type { Tool } from "@selvedge/core/tools";

/** The tools of each server, by their own names. */
export type Toolsets = Record<string, Record<string, Tool>>;

/** All tools as `<server>_<tool>`. Throws if two servers produce the same name. */
export function flatTools(toolsets: Toolsets): Record<string, Tool> {
  const tools = Object.entries(toolsets).flatMap(([server, own]) =>
    Object.values(own).map((tool) => ({ server, name: tool.id, tool })),
  );
  checkNames(tools);
  return Object.fromEntries(tools.map(({ name, tool }) => [name, tool]));
}

/**
 * Toolsets in which no tool hides another. An agent merges them by their enumerable names, so a name used by several
 * servers becomes `<server>_<tool>`. `result.server.tool` and `result["server.tool"]` also find every tool.
 */
export function distinctToolsets(toolsets: Toolsets): Toolsets {
  const users = new Map<string, number>();
  for (const name of Object.values(toolsets).flatMap(Object.keys))
    users.set(name, (users.get(name) ?? 0) + 1);
  const named = Object.entries(toolsets).flatMap(([server, own]) =>
    Object.entries(own).map(([ownName, tool]) => ({
      server,
      ownName,
      name: users.get(ownName) === 1 ? ownName : tool.id,
      tool,
    })),
  );
  checkNames(named);
  const result: Toolsets = Object.fromEntries(Object.keys(toolsets).map((server) => [server, {}]));
  for (const { server, ownName, name, tool } of named) {
    const set = result[server]!;
    set[name] = tool;
    if (name !== ownName) Object.defineProperty(set, ownName, { value: tool });
    Object.defineProperty(result, `${server}.${ownName}`, { value: tool });
  }
  return result;
}

function checkNames(named: readonly { server: string; name: string }[]): void {
  const owners = new Map<string, string>();
  for (const { server, name } of named) {
    const other = owners.get(name);
    if (other !== undefined) {
      throw new AgentError(
        "conflict",
        `MCP servers "${other}" and "${server}" both have a tool that would be called "${name}". Rename one of the servers.`,
      );
    }
    owners.set(name, server);
  }
}
