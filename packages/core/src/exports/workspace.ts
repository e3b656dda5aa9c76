export {
  createWorkspaceTools,
  Workspace,
  type WorkspaceInfo,
  type WorkspaceOptions,
  type WorkspaceStatus,
} from "../workspace/workspace.ts";
export {
  type CommandLimits,
  LocalSandbox,
  type LocalSandboxOptions,
  type NativeSandboxOptions,
} from "../workspace/sandbox/local-sandbox.ts";
export type { DetectedIsolation } from "../workspace/sandbox/isolation.ts";
export type {
  CommandAccess,
  CommandOptions,
  CommandResult,
  Isolation,
  OutputStream,
  ProcessHandle,
  ProcessInfo,
  SandboxInfo,
  SandboxProcessManager,
  SpawnOptions,
  WorkspaceSandbox,
} from "../workspace/sandbox/workspace-sandbox.ts";
export type { BackgroundProcessOptions } from "../workspace/tools/run-command.ts";
export {
  CompositeFilesystem,
  type CompositeFilesystemOptions,
  type OnMount,
} from "../workspace/composite-filesystem.ts";
export type { FileLines, LineRange } from "../workspace/read-lines.ts";
export type { FilePatterns } from "../workspace/file-rules.ts";
export type { GuardedFiles } from "../workspace/guarded-files.ts";
export { LocalFilesystem, type LocalFilesystemOptions } from "../workspace/local-filesystem.ts";
export type {
  DeleteOptions,
  FileContent,
  FileEntry,
  FilesystemInfo,
  FileStat,
  ProviderStatus,
  ReadOptions,
  ScanRoots,
  WorkspaceFilesystem,
  WriteOptions,
} from "../workspace/workspace-filesystem.ts";
export {
  WORKSPACE_TOOLS,
  type WorkspaceToolCall,
  type WorkspaceToolContext,
  type WorkspaceToolOptions,
  type WorkspaceToolsConfig,
} from "../workspace/workspace-tools.ts";
export type { WorkspaceChange } from "../workspace/workspace-change.ts";
export { type StoredChange, WORKSPACE_DOMAIN } from "../workspace/workspace-domain.ts";
export type { WorkspaceProcess } from "../workspace/sandbox/list-processes.ts";
export { PROCESS_DOMAIN } from "../workspace/sandbox/process-domain.ts";
export {
  DirectoryNotEmptyError,
  DirectoryNotFoundError,
  DiskFullError,
  FileChangedError,
  FileExistsError,
  FileLimitError,
  FileNotFoundError,
  FileReadRequiredError,
  IsDirectoryError,
  NotDirectoryError,
  PermissionError,
  SandboxFeatureNotSupportedError,
  SearchNotAvailableError,
  StaleFileError,
  WorkspaceReadOnlyError,
} from "../workspace/workspace-errors.ts";
export { IgnoreRules } from "../workspace/ignore-rules.ts";

// Search.
export type { TokenizeOptions, WorkspaceSearchOptions } from "../workspace/search/search-config.ts";
export type { BatchEmbedder, SearchEmbedder } from "../workspace/search/search-embedder.ts";
export type { SearchMode, SearchOptions } from "../workspace/search/search-index.ts";
export type { IndexOptions, SearchResult } from "../workspace/search/workspace-search.ts";

// Skills.
export { createSkill, type CreateSkillOptions } from "../workspace/skills/create-skill.ts";
export type { InlineSkill, Skill, SkillMetadata, SkillOrigin } from "../workspace/skills/skill.ts";
export type { WorkspaceSkillOptions } from "../workspace/skills/skill-config.ts";
export type { SkillSource } from "../workspace/skills/skill-source.ts";
export type {
  SkillSearchOptions,
  SkillSearchResult,
  WorkspaceSkills,
} from "../workspace/skills/workspace-skills.ts";
