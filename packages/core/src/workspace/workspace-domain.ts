import { AgentError } from "../errors.ts";
import type { Domain } from "../storage/domain.ts";
import type { Storage, Where, Write } from "../storage/storage.ts";
import type { Table } from "../storage/table.ts";
import { insert, remove, update } from "../storage/writes.ts";
import type { System } from "../system.ts";
import type { WorkspaceChange } from "./workspace-change.ts";

const MAX_IMAGE_BYTES = 1024 * 1024;
const MAX_THREAD_BYTES = 64 * 1024 * 1024;
const MAX_LISTED = 1000;

type ReadRow = { thread_id: string; file: string; hash: string };

type ChangeRow = {
  thread_id: string;
  tool_call_id: string;
  root: string;
  file: string;
  change: unknown;
  created_at: number;
  undone_at: number | null;
};

type ImageRow = { thread_id: string; hash: string; encoding: string; content: string; total: number };

/** What the files that a thread has read contained. */
const READS: Table<ReadRow> = {
  name: "selvedge_workspace_reads",
  columns: { thread_id: "text", file: "text", hash: "text" },
  key: ["thread_id", "file"],
  partition: "thread_id",
  clustered: true,
  indexes: [],
};

/** What the calls of a thread change. A row is stored before the change is made. */
const CHANGES: Table<ChangeRow> = {
  name: "selvedge_workspace_changes",
  columns: {
    thread_id: "text",
    tool_call_id: "text",
    /** The workspace it belongs to, and the file without links. */
    root: "text",
    file: "text",
    change: "json",
    created_at: "integer",
    undone_at: "integer",
  },
  key: ["thread_id", "tool_call_id"],
  partition: "thread_id",
  indexes: [{ columns: ["tool_call_id"] }, { columns: ["root", "created_at"] }],
};

/** Contents of files before they were changed, by hash. */
const IMAGES: Table<ImageRow> = {
  name: "selvedge_workspace_images",
  columns: {
    thread_id: "text",
    hash: "text",
    encoding: "text",
    content: "text",
    /** Bytes of the thread's images up to this one: the oldest are deleted by it. */
    total: "integer",
  },
  key: ["thread_id", "hash"],
  partition: "thread_id",
  indexes: [{ columns: ["thread_id", "total"] }],
};

/** A change as it is stored. */
export interface StoredChange extends WorkspaceChange {
  threadId: string;
  createdAt: Date;
  undoneAt?: Date;
}

/** Identifies a file: the workspace's root and the file, both without links. */
export interface FileKey {
  root: string;
  file: string;
}

/** What threads read and changed in files. Deleted with the thread. */
export class WorkspaceStore {
  readonly #storage: Storage;
  readonly #system: System;

  constructor(storage: Storage, system: System) {
    this.#storage = storage;
    this.#system = system;
  }

  /** The SHA-256 of a file when the thread last read or changed it. */
  async knownHash(threadId: string, { root, file }: FileKey): Promise<string | undefined> {
    const where = { thread_id: threadId, file: `${root}:${file}` };
    const [row] = await this.#storage.select({ table: READS, where, limit: 1 });
    return row?.hash;
  }

  know(threadId: string, { root, file }: FileKey, hash: string | undefined): Write {
    const key = { thread_id: threadId, file: `${root}:${file}` };
    return hash === undefined ? remove(READS, key) : insert(READS, { ...key, hash }, "update");
  }

  async commit(threadId: string, writes: readonly Write[]): Promise<void> {
    await this.#storage.commit(writes, { key: threadId, id: this.#system.newId() });
  }

  /** The writes that record a change before it is made. */
  async record(
    threadId: string,
    { root, file }: FileKey,
    change: WorkspaceChange,
    before: Uint8Array | undefined,
  ): Promise<Write[]> {
    const row = {
      thread_id: threadId,
      tool_call_id: change.toolCallId,
      root,
      file,
      change,
      created_at: Math.trunc(this.#system.now()),
      undone_at: null,
    };
    return [
      insert(CHANGES, row, "update"),
      ...(before && change.before !== null ? await this.#keep(threadId, change.before, before) : []),
      this.know(threadId, { root, file }, change.after ?? undefined),
    ];
  }

  /** The writes that remove the record of a change that was not made. */
  withdraw(threadId: string, key: FileKey, toolCallId: string, known: string | undefined): Write[] {
    return [
      remove(CHANGES, { thread_id: threadId, tool_call_id: toolCallId }),
      this.know(threadId, key, known),
    ];
  }

  async #keep(threadId: string, hash: string, content: Uint8Array): Promise<Write[]> {
    if (content.length > MAX_IMAGE_BYTES) return [];
    const [newest] = await this.#storage.select({
      table: IMAGES,
      where: { thread_id: threadId },
      orderBy: [{ column: "total", direction: "desc" }],
      limit: 1,
      columns: ["total"],
    });
    const total = (newest?.total ?? 0) + content.length;
    const bytes = Buffer.from(content);
    const text = bytes.toString("utf8");
    const isText = Buffer.from(text).equals(bytes) && !text.includes("\0");
    const row = {
      thread_id: threadId,
      hash,
      encoding: isText ? "utf8" : "base64",
      content: isText ? text : bytes.toString("base64"),
      total,
    };
    const old = { thread_id: threadId, total: { lte: total - MAX_THREAD_BYTES } };
    return [insert(IMAGES, row, "update"), ...(total > MAX_THREAD_BYTES ? [remove(IMAGES, old)] : [])];
  }

  /** The content that a file had, if it is still kept. */
  async image(threadId: string, hash: string): Promise<Buffer | undefined> {
    const [row] = await this.#storage.select({
      table: IMAGES,
      where: { thread_id: threadId, hash },
      limit: 1,
    });
    return row && Buffer.from(row.content, row.encoding as BufferEncoding);
  }

  /** Changes below a root, oldest first. */
  async changes(
    root: string,
    { threadId, toolCallId }: { threadId?: string | undefined; toolCallId?: string | undefined },
  ): Promise<StoredChange[]> {
    const where: Where<ChangeRow> = {
      root,
      ...(threadId !== undefined && { thread_id: threadId }),
      ...(toolCallId !== undefined && { tool_call_id: toolCallId }),
    };
    return (await this.#newest(where, MAX_LISTED)).reverse().map(toChange);
  }

  #newest(where: Where<ChangeRow>, limit: number): Promise<ChangeRow[]> {
    const orderBy = [{ column: "created_at", direction: "desc" }] as const;
    return this.#storage.select({ table: CHANGES, where, orderBy, limit });
  }

  /** One change, and the file without links: the newest, if several threads have a call with this id. */
  async change(
    root: string,
    { toolCallId, threadId }: { toolCallId: string; threadId?: string | undefined },
  ): Promise<{ change: StoredChange; file: string }> {
    const where = { root, tool_call_id: toolCallId, ...(threadId !== undefined && { thread_id: threadId }) };
    const [row] = await this.#newest(where, 1);
    if (row) return { change: toChange(row), file: row.file };
    throw new AgentError(
      "not-found",
      `Tool call "${toolCallId}" did not change a file in this workspace. List the changes with workspace.changes().`,
    );
  }

  async markUndone({ threadId, toolCallId }: StoredChange): Promise<Date> {
    const where = { thread_id: threadId, tool_call_id: toolCallId };
    const undone_at = Math.trunc(this.#system.now());
    await this.commit(threadId, [update(CHANGES, { where, set: { undone_at } })]);
    return new Date(undone_at);
  }
}

export const WORKSPACE_DOMAIN: Domain<WorkspaceStore> = {
  name: "workspace",
  version: 1,
  tables: [READS, CHANGES, IMAGES],
  open: (storage, system) => new WorkspaceStore(storage, system),
};

function toChange(row: ChangeRow): StoredChange {
  return {
    ...(row.change as WorkspaceChange),
    threadId: row.thread_id,
    createdAt: new Date(row.created_at),
    ...(row.undone_at !== null && { undoneAt: new Date(row.undone_at) }),
  };
}
