import { compileSchema, type Schema } from "@selvedge/core/tools";
import type { MCPServerConfig, PackageInfo, RemoteInfo, Repository } from "./server-config.ts";
import type { ServedTool } from "./served-tool.ts";

export interface ServerInfo {
  id: string;
  name: string;
  description?: string;
  repository?: Repository;
  version_detail: { version: string; release_date: string; is_latest: boolean };
}

export interface ServerDetail extends ServerInfo {
  package_canonical?: string;
  packages?: PackageInfo[];
  remotes?: RemoteInfo[];
}

export interface ToolInfo {
  id?: string;
  name: string;
  description?: string;
  inputSchema: unknown;
  outputSchema?: unknown;
  toolType?: "agent" | "workflow";
}

export interface ToolListInfo {
  tools: ToolInfo[];
}

export function serverDetail(config: MCPServerConfig, id: string, releaseDate: string): ServerDetail {
  const { packageCanonical, packages, remotes } = config;
  return {
    ...serverInfo(config, id, releaseDate),
    ...(packageCanonical !== undefined && { package_canonical: packageCanonical }),
    ...(packages && { packages }),
    ...(remotes && { remotes }),
  };
}

export function serverInfo(config: MCPServerConfig, id: string, releaseDate: string): ServerInfo {
  const { name, version, description, repository, isLatest = true } = config;
  return {
    id,
    name,
    ...(description !== undefined && { description }),
    ...(repository && { repository }),
    version_detail: { version, release_date: releaseDate, is_latest: isLatest },
  };
}

export function toolInfo({ tool, wire, toolType }: ServedTool): ToolInfo {
  const { outputSchema } = tool;
  return {
    id: tool.id,
    name: wire.name,
    ...(wire.description !== undefined && { description: wire.description }),
    inputSchema: wire.inputSchema,
    ...(outputSchema && { outputSchema: compileSchema(outputSchema as Schema).jsonSchema }),
    ...(toolType && { toolType }),
  };
}
