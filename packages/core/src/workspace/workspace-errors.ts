import { AgentError } from "../errors.ts";

type Code = ConstructorParameters<typeof AgentError>[0];

/** A failed operation on a path. The message shows the path as the caller gave it, never a host path outside the root. */
class PathError extends AgentError {
  readonly path: string;

  constructor(
    name: string,
    code: Code,
    path: string,
    message: string,
    details: Record<string, unknown> = {},
  ) {
    super(code, message, { details: { path, ...details } });
    this.name = name;
    this.path = path;
  }
}

export class FileNotFoundError extends PathError {
  constructor(path: string, hint = "List the directory to see what is there.") {
    super("FileNotFoundError", "not-found", path, `File not found: ${path}. ${hint}`);
  }
}

export class DirectoryNotFoundError extends PathError {
  constructor(path: string, hint = "List the directory above to see what is there.") {
    super("DirectoryNotFoundError", "not-found", path, `Directory not found: ${path}. ${hint}`);
  }
}

export class FileExistsError extends PathError {
  constructor(path: string) {
    super("FileExistsError", "conflict", path, `${path} already exists. Pass overwrite: true to replace it.`);
  }
}

export class IsDirectoryError extends PathError {
  constructor(path: string) {
    super("IsDirectoryError", "invalid-argument", path, `${path} is a directory, not a file.`);
  }
}

export class NotDirectoryError extends PathError {
  constructor(path: string) {
    super("NotDirectoryError", "invalid-argument", path, `${path} is not a directory.`);
  }
}

export class DirectoryNotEmptyError extends PathError {
  constructor(path: string) {
    super(
      "DirectoryNotEmptyError",
      "conflict",
      path,
      `${path} is not empty. Pass recursive: true to delete it with its contents.`,
    );
  }
}

export class PermissionError extends PathError {
  constructor(path: string, reason: string) {
    super("PermissionError", "forbidden", path, `${path}: ${reason}`);
  }
}

export class FileReadRequiredError extends PathError {
  constructor(path: string) {
    super("FileReadRequiredError", "conflict", path, `Read ${path} before you change it.`);
  }
}

export class StaleFileError extends PathError {
  constructor(path: string, change = "") {
    super(
      "StaleFileError",
      "conflict",
      path,
      `${path} has changed since it was read. Read it again before you change it.${change && `\n${change}`}`,
    );
  }
}

/** The process died while it changed a file, and something else has changed the file since. */
export class FileChangedError extends PathError {
  constructor(path: string, marks: { before: string | null; after: string | null; found: string | null }) {
    const { before, after, found } = marks;
    const show = (mark: string | null) => (mark === null ? "no file" : mark);
    super(
      "FileChangedError",
      "file-changed",
      path,
      `The process ended while it was changing ${path}. The file is now neither the old nor the new version, so another program has changed it. ` +
        `Nothing more was written. Before: ${show(before)}. After the change: ${show(after)}. Now: ${show(found)}. Read the file before you change it.`,
      marks,
    );
  }
}

export class WorkspaceReadOnlyError extends PathError {
  constructor(path: string) {
    super(
      "WorkspaceReadOnlyError",
      "forbidden",
      path,
      `${path} cannot be changed: the workspace is read-only.`,
    );
  }
}

export class SandboxFeatureNotSupportedError extends AgentError {
  constructor(sandbox: string, feature: string) {
    super(
      "not-supported",
      `${sandbox} does not support ${feature}. Use another sandbox, such as LocalSandbox.`,
    );
    this.name = "SandboxFeatureNotSupportedError";
  }
}

export class DiskFullError extends PathError {
  constructor(path: string) {
    super(
      "DiskFullError",
      "limit-exceeded",
      path,
      `${path}: the disk is full. The file was not changed. Free some space, or ask the user to.`,
    );
  }
}

/** A path or value over a limit of the workspace. */
export class FileLimitError extends PathError {
  constructor(path: string, message: string) {
    super("FileLimitError", "limit-exceeded", path, `${path}: ${message}`);
  }
}

/** A search that needs an index the workspace does not have. */
export class SearchNotAvailableError extends AgentError {
  constructor(mode: string | undefined, available: string | undefined) {
    super(
      "not-supported",
      available === undefined
        ? "This workspace has no search index. Set bm25: true, or vectorStore and embedder."
        : `This workspace cannot search by ${mode}, only by ${available}. Set bm25, or vectorStore and embedder.`,
    );
    this.name = "SearchNotAvailableError";
  }
}
