import { basename } from "node:path";
import { AgentError } from "@selvedge/core";
import { type RequestContext, RESOURCE_ID_KEY } from "@selvedge/core/request-context";
import type { Storage } from "@selvedge/core/storage";
import { ownerOfThread } from "@selvedge/core/threads";
import { type StoredChange, Workspace, type WorkspaceSkills } from "@selvedge/core/workspace";
import type { WorkspaceItem } from "@selvedge/protocol/routes";
import type { Call, Handlers, Tagged } from "../handler.ts";
import { toRequestContext } from "../run-options.ts";
import { jsonResponse } from "../to-response.ts";

interface Found {
  workspace: Workspace;
  source: WorkspaceItem["source"];
  agent?: { id: string; name: string };
  storage(): Promise<Storage | undefined>;
}

type AnyCall = Pick<Call, "app" | "caller" | "resourceId">;
type OneCall = AnyCall & { readonly params: { workspaceId: string } };

export const WORKSPACE_HANDLERS: Handlers<Tagged<"workspaces">> = {
  listWorkspaces: async (call) => ({
    workspaces: await Promise.all(
      (await visible(call)).map(async ({ workspace, source, agent }) => ({
        ...(await factsOf(workspace, contextOf(call))),
        source,
        ...(agent && { agentId: agent.id, agentName: agent.name }),
      })),
    ),
  }),
  getWorkspace: async (call) => {
    const { workspace } = await find(call);
    const requestContext = contextOf(call);
    const { filesystem, sandbox } = await workspace.getInfo({ requestContext });
    return {
      isWorkspaceConfigured: true,
      ...(await factsOf(workspace, requestContext)),
      ...(filesystem && { filesystem: providerOf(filesystem) }),
      ...(sandbox && { sandbox: providerOf(sandbox) }),
    };
  },

  listWorkspaceFiles: async (call) => {
    const { path, recursive = false } = call.query;
    return { path, entries: await (await filesOf(call)).list(path, { recursive }) };
  },
  readWorkspaceFile: async (call) => {
    const { path, encoding, download } = call.query;
    const bytes = await (await filesOf(call)).read(path);
    const attached = attachment(path);
    if (download) {
      const headers = { ...attached, "content-type": "application/octet-stream", ...SAFE };
      return new Response(new Uint8Array(bytes), { headers });
    }
    const used = encoding ?? (isText(bytes) ? "utf-8" : "base64");
    const content = bytes.toString(used);
    const response = jsonResponse({ path, content, encoding: used, type: "file", size: bytes.length });
    for (const [name, value] of Object.entries(attached)) response.headers.set(name, value);
    return response;
  },
  statWorkspaceFile: async (call) => {
    const { path } = call.query;
    const { type, size, createdAt, modifiedAt, mimeType } = await (await filesOf(call)).stat(path);
    return { path, type, size, createdAt, modifiedAt, mimeType };
  },
  writeWorkspaceFile: async (call) => {
    const { path, content, encoding = "utf-8", recursive = true } = call.body;
    await (await filesOf(call)).write(path, Buffer.from(content, encoding), { recursive });
    return { success: true, path };
  },
  makeWorkspaceDirectory: async (call) => {
    const { path, recursive = true } = call.body;
    await (await filesOf(call)).mkdir(path, { recursive });
    return { success: true, path };
  },
  deleteWorkspaceFile: async (call) => {
    const { path, recursive = false, force = false } = call.query;
    await (await filesOf(call)).delete(path, { recursive, force });
    return { success: true, path };
  },

  searchWorkspace: async (call) => {
    const { workspace } = await find(call);
    const { query, resourceId: _, ...options } = call.query;
    const best = workspace.canHybrid ? "hybrid" : workspace.canVector ? "vector" : "bm25";
    const requestContext = contextOf(call);
    const results = await workspace.search(query, { ...options, requestContext });
    return { query, mode: options.mode ?? best, results };
  },
  indexWorkspace: async (call) => {
    const { path, content, metadata } = call.body;
    const { workspace } = await find(call);
    const requestContext = contextOf(call);
    await workspace.index(path, content, { requestContext, ...(metadata && { metadata }) });
    return { success: true, path };
  },

  listSkills: async (call) => {
    const skills = await skillsOf(call);
    return { skills: (await skills?.list()) ?? [], isSkillsConfigured: skills !== undefined };
  },
  searchSkills: async (call) => {
    const { query, topK, skillNames } = call.query;
    const options = {
      ...(topK !== undefined && { topK }),
      ...(skillNames !== undefined && { skillNames: skillNames.split(",") }),
    };
    return { query, results: (await (await skillsOf(call))?.search(query, options)) ?? [] };
  },
  getSkill: async (call) => (await skillOf(call)).skill,
  listSkillReferences: async (call) => {
    const { skills, skill } = await skillOf(call);
    return { skillName: skill.name, references: await skills.listReferences(skill.path) };
  },
  getSkillReference: async (call) => {
    const { referencePath } = call.params;
    const { skills, skill } = await skillOf(call);
    const content = await skills.getReference(skill.path, referencePath);
    if (content === null)
      throw new AgentError("not-found", `Skill "${skill.name}" has no reference "${referencePath}".`);
    return { skillName: skill.name, referencePath, content };
  },

  listWorkspaceChanges: async (call) => {
    const { threadId, toolCallId } = call.query;
    return { changes: await changesOf(call, await find(call), { threadId, toolCallId }) };
  },
  undoWorkspaceChange: async (call) => {
    const { toolCallId } = call.params;
    const found = await find(call);
    const [change] = (await changesOf(call, found, { toolCallId, threadId: call.body.threadId })).reverse();
    if (!change)
      throw new AgentError("not-found", `Tool call "${toolCallId}" changed no file of this workspace.`);
    const { threadId } = change;
    return found.workspace.undo({ toolCallId, threadId, requestContext: contextOf(call) });
  },

  listWorkspaceProcesses: async (call) => {
    const { threadId } = call.query;
    const { workspace, threads } = await threadsOf(await find(call));
    if (!workspace.hasSandboxConfig() || !threads) return { processes: [] };
    const all = await workspace.listProcesses({
      ...(threadId !== undefined && { threadId }),
      requestContext: contextOf(call),
    });
    return { processes: await ofCaller(call, threads, all) };
  },
  killWorkspaceProcess: async (call) => {
    const { pid } = call.params;
    const { threadId } = call.body;
    const { workspace, threads } = await threadsOf(await find(call));
    const which = { threadId, pid };
    const own = threads && (await ofCaller(call, threads, [which]));
    if (!own?.length || !workspace.hasSandboxConfig())
      throw new AgentError("not-found", `Thread "${threadId}" has no background process "${pid}".`);
    return workspace.killProcess({ ...which, requestContext: contextOf(call) });
  },

  getAgentSkill: async (call) => {
    const { agentId, skillName } = call.params;
    const agent = call.app.agent(agentId);
    const found = (await visible(call)).find((one) => one.agent?.id === agent.id);
    const requestContext = contextOf(call);
    const { skills: given = [] } = agent.configuration;
    const dynamic = { requestContext, runtimeContext: requestContext, mastra: call.app.mastra };
    const agentSkills = typeof given === "function" ? await given(dynamic) : given;
    // An agent may have skills and no workspace.
    const workspace = found?.workspace ?? new Workspace({ skills: [] });
    const skills = await workspace.resolveSkills({ requestContext, agentSkills });
    const name = call.query.path ?? skillName;
    const skill = await skills?.get(name);
    if (skill) return skill;
    throw new AgentError("not-found", `Agent "${agentId}" has no skill "${name}".`);
  },
};

const SAFE = {
  "x-content-type-options": "nosniff",
  "content-security-policy": "sandbox; default-src 'none'",
  "cache-control": "no-store",
};

function attachment(path: string): Record<string, string> {
  return { "content-disposition": `attachment; filename*=UTF-8''${encodeURIComponent(basename(path))}` };
}

function isText(bytes: Buffer): boolean {
  return !bytes.includes(0) && Buffer.from(bytes.toString("utf8")).equals(bytes);
}

/** The caller as functions of the host see it. Nothing in it is from the request, unless no one identifies callers. */
function contextOf({ caller, resourceId }: AnyCall): RequestContext {
  const context = toRequestContext(undefined, caller);
  if (resourceId !== undefined) context.set(RESOURCE_ID_KEY, resourceId);
  return context;
}

/**
 * The workspaces that a caller may see: those that a function of the host chooses for it, and with the grant
 * `inspect` also those that all callers share.
 */
async function visible(call: AnyCall): Promise<Found[]> {
  const { app, caller } = call;
  const all = new Map<Workspace, Found & { isShared: boolean }>();
  const add = (found: Found, isShared: boolean): void => {
    if (!all.has(found.workspace)) all.set(found.workspace, { ...found, isShared });
  };
  const storage = () => app.storage(undefined);
  for (const workspace of Object.values(app.mastra.listWorkspaces()))
    add({ workspace, source: "mastra", storage }, isFixed(workspace));
  for (const controller of app.controllers()) {
    const workspace = controller.getWorkspace() as Workspace | undefined;
    if (typeof workspace?.guardedFiles === "function")
      add({ workspace, source: "controller", storage }, isFixed(workspace));
  }
  for (const [name, { id }] of Object.entries(app.mastra.listAgents())) {
    const agent = app.agent(name);
    const isChosen = typeof agent.configuration.workspace === "function";
    const workspace = await agent
      .getWorkspace({ requestContext: contextOf(call) })
      .catch((error: unknown) => {
        app.mastra.logger.warn(`The workspace function of agent "${name}" failed: ${String(error)}`);
        return undefined;
      });
    if (!workspace) continue;
    const threads = (): Promise<Storage> => agent.getThreadStorage();
    const found: Found = { workspace, source: "agent", agent: { id, name: agent.name }, storage: threads };
    add(found, !isChosen && isFixed(workspace));
  }
  return [...all.values()].filter(({ isShared }) => !isShared || caller.has("inspect"));
}

/** Whether all requests get the same files. */
function isFixed(workspace: Workspace): boolean {
  return !workspace.hasFilesystemConfig() || workspace.filesystem !== undefined;
}

async function find(call: OneCall): Promise<Found> {
  const { workspaceId } = call.params;
  const found = (await visible(call)).find(({ workspace }) => workspace.id === workspaceId);
  if (found) return found;
  throw new AgentError("not-found", `There is no workspace "${workspaceId}".`);
}

async function filesOf(call: OneCall): ReturnType<Workspace["guardedFiles"]> {
  const { workspace } = await find(call);
  return workspace.guardedFiles({ requestContext: contextOf(call), secrets: call.caller.has("control") });
}

async function skillsOf(call: OneCall): Promise<WorkspaceSkills | undefined> {
  return (await find(call)).workspace.resolveSkills({ requestContext: contextOf(call) });
}

async function skillOf(
  call: OneCall & { readonly params: { skillName: string }; readonly query: { path?: string } },
): Promise<{ skills: WorkspaceSkills; skill: NonNullable<Awaited<ReturnType<WorkspaceSkills["get"]>>> }> {
  const skills = await skillsOf(call);
  const name = call.query.path ?? call.params.skillName;
  const skill = await skills?.get(name);
  if (skills && skill) return { skills, skill };
  throw new AgentError("not-found", `There is no skill "${name}".`);
}

/** A workspace and the store of the threads that work on it. */
async function threadsOf({
  workspace,
  storage,
  source,
}: Found): Promise<{ workspace: Workspace; threads: Storage | undefined }> {
  const threads = await storage();
  if (source !== "mastra") workspace.useStorage(threads);
  return { workspace, threads };
}

/** What belongs to the caller's threads. */
async function ofCaller<Item extends { threadId: string }>(
  { caller: { resourceId, isTrusted } }: AnyCall,
  threads: Storage | undefined,
  items: readonly Item[],
): Promise<Item[]> {
  if (isTrusted) return [...items];
  const own = new Set<string>();
  for (const id of new Set(items.map(({ threadId }) => threadId)))
    if (threads && (await ownerOfThread(threads, id)) === resourceId) own.add(id);
  return items.filter(({ threadId }) => own.has(threadId));
}

/** Changes by the caller's threads. Someone may share a workspace and not the threads that work on it. */
async function changesOf(
  call: AnyCall,
  found: Found,
  { threadId, toolCallId }: { threadId: string | undefined; toolCallId: string | undefined },
): Promise<StoredChange[]> {
  const { workspace, threads } = await threadsOf(found);
  const changes = await workspace.changes({
    requestContext: contextOf(call),
    ...(threadId !== undefined && { threadId }),
    ...(toolCallId !== undefined && { toolCallId }),
  });
  return ofCaller(call, threads, changes);
}

async function factsOf(
  workspace: Workspace,
  requestContext: RequestContext,
): Promise<Omit<WorkspaceItem, "source">> {
  const { id, name, status, canBM25, canVector, canHybrid } = workspace;
  const files = await workspace.resolveFilesystem({ requestContext });
  const skills = await workspace.resolveSkills({ requestContext });
  return {
    id,
    name,
    status,
    capabilities: {
      hasFilesystem: files !== undefined,
      hasSandbox: workspace.hasSandboxConfig(),
      canBM25,
      canVector,
      canHybrid,
      hasSkills: skills !== undefined,
    },
    safety: { readOnly: files?.readOnly ?? false },
  };
}

/** Without the paths of the machine. */
function providerOf(info: { id: string; name: string; provider: string; status: string }): {
  id: string;
  name: string;
  provider: string;
  status: string;
} {
  const { id, name, provider, status } = info;
  return { id, name, provider, status };
}
