import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RESOURCE_ID_KEY } from "@selvedge/core/request-context";
import { LocalFilesystem, Workspace } from "@selvedge/core/workspace";
import { onTestFinished } from "vitest";

/** A workspace in which every resource has its own folder, and the files of one of them. */
export function tenantFiles(): {
  workspace: Workspace;
  folder: string;
  files(resourceId: string): LocalFilesystem;
} {
  const folder = mkdtempSync(join(tmpdir(), "tenants-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const opened = new Map<string, LocalFilesystem>();
  const files = (resourceId: string): LocalFilesystem => {
    const basePath = join(folder, resourceId);
    mkdirSync(basePath, { recursive: true });
    const found = opened.get(resourceId) ?? new LocalFilesystem({ basePath });
    opened.set(resourceId, found);
    return found;
  };
  const workspace = new Workspace({
    id: "files",
    filesystem: ({ requestContext }) => files(String(requestContext.get(RESOURCE_ID_KEY) ?? "nobody")),
    skills: ["skills"],
    bm25: true,
    autoIndexPaths: ["."],
  });
  return { workspace, folder, files };
}
