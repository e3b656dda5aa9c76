import { routesOf } from "./route.ts";
import {
  anyObject,
  anything,
  either,
  flag,
  id,
  integer,
  list,
  nothing,
  number,
  object,
  oneOf,
  only,
  openObject,
  optional,
  record,
  text,
  time,
} from "./shape.ts";
import * as shapes from "./shapes.ts";

const workspaces = routesOf("workspaces");

const path = text({ minLength: 1, maxLength: 4096 });
const mode = oneOf("bm25", "vector", "hybrid");
const ofCaller = { resourceId: optional(shapes.resourceId) };
const query = text({ minLength: 1, maxLength: 8192 });
const topK = optional(integer({ minimum: 1, maximum: 100 }));
const lineRange = openObject({ start: integer(), end: integer() });
const entryType = oneOf("file", "directory", "symlink");
const changed = openObject({ success: only(true), path: text() });

const facts = {
  id: text(),
  name: text(),
  status: text(),
  capabilities: openObject({
    hasFilesystem: flag(),
    hasSandbox: flag(),
    canBM25: flag(),
    canVector: flag(),
    canHybrid: flag(),
    hasSkills: flag(),
  }),
  safety: openObject({ readOnly: flag() }),
};

export const workspaceItem = openObject({
  ...facts,
  source: oneOf("mastra", "agent", "controller"),
  agentId: optional(text()),
  agentName: optional(text()),
});

const provider = openObject({ id: text(), name: text(), provider: text(), status: optional(text()) });

const skillFields = {
  name: text(),
  description: text(),
  path: text(),
  source: oneOf("agent", "local", "managed", "external"),
  license: optional(text()),
  compatibility: optional(text()),
  "user-invocable": flag(),
  metadata: optional(record(anything())),
};
export const skillInfo = openObject(skillFields);

const hash = either(text(), nothing());
export const workspaceChange = openObject({
  toolCallId: text(),
  threadId: text(),
  path: text(),
  operation: oneOf("create", "edit", "delete", "mkdir"),
  /** SHA-256 of the content, or `null` if there was no file. */
  before: hash,
  after: hash,
  added: integer(),
  removed: integer(),
  diff: optional(text()),
  createdAt: time(),
  undoneAt: optional(time()),
});

export const workspaceProcess = openObject({
  pid: text(),
  threadId: text(),
  toolCallId: text(),
  command: text(),
  state: oneOf("running", "exited", "lost"),
  exitCode: optional(integer()),
  startedAt: time(),
  /** Whether the process that answers can end it. */
  canKill: flag(),
});

export const WORKSPACE_ROUTES = {
  listWorkspaces: workspaces("GET /api/workspaces", {
    summary: "Workspaces that the caller can see",
    owner: "resource",
    query: object(ofCaller),
    response: openObject({ workspaces: list(workspaceItem) }),
  }),
  getWorkspace: workspaces("GET /api/workspaces/:workspaceId", {
    summary: "A workspace and what it can do",
    owner: "resource",
    query: object(ofCaller),
    response: openObject({
      isWorkspaceConfigured: only(true),
      ...facts,
      filesystem: optional(provider),
      sandbox: optional(provider),
    }),
  }),
  listWorkspaceFiles: workspaces("GET /api/workspaces/:workspaceId/fs/list", {
    summary: "The entries of a directory",
    owner: "resource",
    query: object({ ...ofCaller, path, recursive: optional(flag()) }),
    response: openObject({
      path: text(),
      entries: list(openObject({ name: text(), type: entryType, size: optional(integer()) })),
    }),
  }),
  readWorkspaceFile: workspaces("GET /api/workspaces/:workspaceId/fs/read", {
    summary: "A file, as JSON, or with download as its bytes. Secrets need the grant control",
    owner: "resource",
    query: object({
      ...ofCaller,
      path,
      encoding: optional(oneOf("utf-8", "base64")),
      download: optional(flag()),
    }),
    response: openObject({
      path: text(),
      content: text(),
      /** Without one in the request: utf-8 if the file is text. */
      encoding: oneOf("utf-8", "base64"),
      type: only("file"),
      size: integer(),
    }),
  }),
  statWorkspaceFile: workspaces("GET /api/workspaces/:workspaceId/fs/stat", {
    summary: "The type, size and times of a file or directory",
    owner: "resource",
    query: object({ ...ofCaller, path }),
    response: openObject({
      path: text(),
      type: entryType,
      size: integer(),
      createdAt: time(),
      modifiedAt: time(),
      mimeType: optional(text()),
    }),
  }),
  writeWorkspaceFile: workspaces("POST /api/workspaces/:workspaceId/fs/write", {
    summary: "Writes a file",
    owner: "resource",
    grant: "control",
    body: object({
      ...ofCaller,
      path,
      content: text(),
      encoding: optional(oneOf("utf-8", "base64")),
      /** Create missing directories. Default: true. */
      recursive: optional(flag()),
    }),
    response: changed,
  }),
  makeWorkspaceDirectory: workspaces("POST /api/workspaces/:workspaceId/fs/mkdir", {
    summary: "Creates a directory",
    owner: "resource",
    grant: "control",
    body: object({ ...ofCaller, path, recursive: optional(flag()) }),
    response: changed,
  }),
  deleteWorkspaceFile: workspaces("DELETE /api/workspaces/:workspaceId/fs/delete", {
    summary: "Deletes a file, or with recursive a directory",
    owner: "resource",
    grant: "control",
    query: object({ ...ofCaller, path, recursive: optional(flag()), force: optional(flag()) }),
    response: changed,
  }),
  searchWorkspace: workspaces("GET /api/workspaces/:workspaceId/search", {
    summary: "Passages of indexed files and texts, best first",
    owner: "resource",
    query: object({ ...ofCaller, query, topK, mode: optional(mode), minScore: optional(number()) }),
    response: openObject({
      query: text(),
      mode,
      results: list(
        openObject({
          id: text(),
          content: text(),
          score: number(),
          lineRange: optional(lineRange),
          metadata: optional(record(anything())),
          scoreDetails: optional(openObject({ bm25: optional(number()), vector: optional(number()) })),
        }),
      ),
    }),
  }),
  indexWorkspace: workspaces("POST /api/workspaces/:workspaceId/index", {
    summary: "Adds a text to the index, or replaces it",
    owner: "resource",
    grant: "control",
    body: object({ ...ofCaller, path, content: text(), metadata: optional(anyObject()) }),
    response: changed,
  }),
  searchSkills: workspaces("GET /api/workspaces/:workspaceId/skills/search", {
    summary: "Passages of skills and their references, best first",
    owner: "resource",
    query: object({
      ...ofCaller,
      query,
      topK,
      skillNames: optional(text({ description: "Comma-separated" })),
    }),
    response: openObject({
      query: text(),
      results: list(
        openObject({ skillName: text(), source: text(), content: text(), score: number(), lineRange }),
      ),
    }),
  }),
  listSkills: workspaces("GET /api/workspaces/:workspaceId/skills", {
    summary: "The skills of a workspace",
    owner: "resource",
    query: object(ofCaller),
    response: openObject({ skills: list(skillInfo), isSkillsConfigured: flag() }),
  }),
  getSkill: workspaces("GET /api/workspaces/:workspaceId/skills/:skillName", {
    summary: "A skill with its instructions. path distinguishes skills with the same name",
    owner: "resource",
    query: object({ ...ofCaller, path: optional(path) }),
    response: openObject({ ...skillFields, instructions: text() }),
  }),
  listSkillReferences: workspaces("GET /api/workspaces/:workspaceId/skills/:skillName/references", {
    summary: "The files in references/ of a skill",
    owner: "resource",
    query: object({ ...ofCaller, path: optional(path) }),
    response: openObject({ skillName: text(), references: list(text()) }),
  }),
  getSkillReference: workspaces(
    "GET /api/workspaces/:workspaceId/skills/:skillName/references/:referencePath",
    {
      summary: "A file in references/ of a skill",
      owner: "resource",
      query: object({ ...ofCaller, path: optional(path) }),
      response: openObject({ skillName: text(), referencePath: text(), content: text() }),
    },
  ),
  listWorkspaceChanges: workspaces("GET /api/workspaces/:workspaceId/changes", {
    summary: "Changes made by the caller's threads, oldest first",
    owner: "resource",
    query: object({ ...ofCaller, threadId: optional(id()), toolCallId: optional(id()) }),
    response: openObject({ changes: list(workspaceChange) }),
  }),
  undoWorkspaceChange: workspaces("POST /api/workspaces/:workspaceId/changes/:toolCallId/undo", {
    summary: "Reverts the change of a call, unless the file has changed since",
    owner: "resource",
    grant: "control",
    body: object({ ...ofCaller, threadId: optional(id()) }),
    response: workspaceChange,
  }),
  listWorkspaceProcesses: workspaces("GET /api/workspaces/:workspaceId/processes", {
    summary: "The background processes of the caller's threads, newest first",
    owner: "resource",
    query: object({ ...ofCaller, threadId: optional(id()) }),
    response: openObject({ processes: list(workspaceProcess) }),
  }),
  killWorkspaceProcess: workspaces("POST /api/workspaces/:workspaceId/processes/:pid/kill", {
    summary: "Ends a background process and everything it started",
    owner: "resource",
    grant: "control",
    body: object({ ...ofCaller, threadId: id() }),
    response: workspaceProcess,
  }),
  getAgentSkill: workspaces("GET /api/agents/:agentId/skills/:skillName", {
    summary: "A skill of an agent or its workspace, with its instructions",
    owner: "resource",
    query: object({ ...ofCaller, path: optional(path) }),
    response: openObject({ ...skillFields, instructions: text() }),
  }),
};
