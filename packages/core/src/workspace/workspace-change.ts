import { createHash } from "node:crypto";
import type { ToolWriter } from "../tool/tool.ts";

const MAX_DIFF_BYTES = 64 * 1024;

export interface WorkspaceChange {
  toolCallId: string;
  path: string;
  operation: "create" | "edit" | "delete" | "mkdir";
  /** SHA-256 of the content, or `null` if there was no file. */
  before: string | null;
  after: string | null;
  added: number;
  removed: number;
  /** A unified diff of a text file. */
  diff?: string;
}

export function hashOf(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

/** Describes a change, with a diff if both sides are text. */
export async function describeChange(
  change: Pick<WorkspaceChange, "toolCallId" | "path" | "operation">,
  before: string | Uint8Array | undefined,
  after: string | Uint8Array | undefined,
): Promise<WorkspaceChange> {
  const hashes = {
    before: before === undefined ? null : hashOf(before),
    after: after === undefined ? null : hashOf(after),
  };
  if (typeof (before ?? "") !== "string" || typeof (after ?? "") !== "string") {
    return { ...change, ...hashes, added: 0, removed: 0 };
  }
  const { createTwoFilesPatch } = await import("diff");
  const diff = createTwoFilesPatch(
    before === undefined ? "/dev/null" : `a/${change.path}`,
    after === undefined ? "/dev/null" : `b/${change.path}`,
    (before ?? "") as string,
    (after ?? "") as string,
    undefined,
    undefined,
    { context: 3, timeout: 1000 },
  );
  const lines = diff?.split("\n").slice(4) ?? [];
  return {
    ...change,
    ...hashes,
    added: lines.filter((line) => line.startsWith("+")).length,
    removed: lines.filter((line) => line.startsWith("-")).length,
    ...(diff && Buffer.byteLength(diff) <= MAX_DIFF_BYTES && { diff }),
  };
}

/** Puts a change on the thread's stream, where it is stored. After a crash it may be there twice, with one id. */
export async function announceChange(writer: ToolWriter, change: WorkspaceChange): Promise<void> {
  await writer.custom({ type: "data-workspace-change", id: change.toolCallId, data: change });
}
