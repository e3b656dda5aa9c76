import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const MANIFEST = fileURLToPath(new URL("../packages/protocol/package.json", import.meta.url));

it.each(["3.22.4", "3.25.76", "4.1.13", "4.2.0"])("can be installed beside zod %s", async (version) => {
  const root = await mkdtemp(join(tmpdir(), "selvedge-zod-"));
  // This Node in front: npm is the machine's, whatever Node that has.
  const env = { ...process.env, PATH: dirname(process.execPath) + delimiter + process.env["PATH"] };
  const npm = (...args: string[]) =>
    promisify(execFile)("npm", args, { cwd: root, env, shell: process.platform === "win32" });
  try {
    for (const name of ["zod", "protocol"]) await mkdir(join(root, name));
    await copyFile(MANIFEST, join(root, "protocol", "package.json"));
    await writeFile(join(root, "zod", "package.json"), JSON.stringify({ name: "zod", version }));
    const { stdout } = await npm("pack", "--silent", "--ignore-scripts", "--offline", "./zod", "./protocol");
    const [zod, protocol] = stdout.trim().split("\n");
    const dependencies = { zod: `file:${zod}`, "@selvedge/protocol": `file:${protocol}` };
    await writeFile(join(root, "package.json"), JSON.stringify({ dependencies }));
    const installed = await npm(
      "install",
      "--offline",
      "--dry-run",
      "--no-audit",
      "--no-fund",
      "--loglevel=notice",
    );
    expect(installed.stdout).toContain(`add zod ${version}`);
  } finally {
    await rm(root, { recursive: true });
  }
});
