import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { LocalFilesystem, type LocalFilesystemOptions } from "../local-filesystem.ts";

export interface Scratch {
  /** The workspace's root. */
  root: string;
  /** A sibling of the root with `secret.txt` in it. */
  outside: string;
  files: LocalFilesystem;
}

/** A root and a sibling that must not be reachable, deleted after the test. */
export function scratch(options: Omit<LocalFilesystemOptions, "basePath"> = {}): Scratch {
  const base = mkdtempSync(join(tmpdir(), "workspace-"));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const root = join(base, "root");
  const outside = join(base, "outside");
  mkdirSync(root);
  mkdirSync(outside);
  writeFileSync(join(outside, "secret.txt"), "secret");
  return { root, outside, files: new LocalFilesystem({ basePath: root, ...options }) };
}
