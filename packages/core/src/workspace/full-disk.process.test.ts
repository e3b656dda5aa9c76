import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";

const PROGRAM = fileURLToPath(new URL("__fixtures__/fill-disk.ts", import.meta.url));
const canMount = spawnSync("unshare", ["-rm", "mount", "-t", "tmpfs", "none", "/mnt"]).status === 0;

describe("a disk that is full", () => {
  it.skipIf(!canMount)("leaves every file as it was, and says so", () => {
    const folder = mkdtempSync(join(tmpdir(), "workspace-full-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const script =
      'mount -t tmpfs -o size=64k,nr_inodes=20 none "$1" && exec "$2" --conditions=selvedge-source --no-warnings "$3" "$1"';
    const said = execFileSync(
      "unshare",
      ["-rm", "sh", "-c", script, "sh", folder, process.execPath, PROGRAM],
      {
        encoding: "utf8",
      },
    );
    expect(JSON.parse(said)).toEqual({
      write:
        "DiskFullError limit-exceeded a.txt: the disk is full. The file was not changed. Free some space, or ask the user to.",
      content: "before",
      append: "DiskFullError limit-exceeded",
      directories: "DiskFullError limit-exceeded",
      left: ["a.txt"],
    });
  });
});
