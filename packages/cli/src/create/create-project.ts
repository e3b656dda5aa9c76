import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { AgentError } from "@selvedge/core/errors";

const TEMPLATE = fileURLToPath(new URL("../../templates/default", import.meta.url));
const MANIFEST = new URL("../../package.json", import.meta.url);
/** What npm takes as a package's name, without a scope. */
const NAME = /^[a-z0-9][a-z0-9._-]{0,213}$/;
/** Names that npm treats specially when a package is packed. */
const RENAMED: Readonly<Record<string, string>> = { gitignore: ".gitignore", "env.example": ".env.example" };

/** Writes the template into a new folder. Nothing is written when the folder has something in it. */
export async function createProject(
  parent: string,
  name: string,
): Promise<{ folder: string; files: string[] }> {
  if (!NAME.test(name)) {
    throw new AgentError(
      "invalid-argument",
      `${JSON.stringify(name)} is not a valid project name. Use lower-case letters, digits, "-", "_" and ".".`,
    );
  }
  const folder = join(parent, name);
  await mkdir(folder, { recursive: true });
  if ((await readdir(folder)).length > 0) {
    throw new AgentError("conflict", `${folder} is not empty. Choose another name, or empty it.`);
  }
  const { version } = JSON.parse(await readFile(MANIFEST, "utf8")) as { version: string };
  const files: string[] = [];
  for (const entry of await readdir(TEMPLATE, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const source = join(entry.parentPath, entry.name);
    const file = join(relative(TEMPLATE, dirname(source)), RENAMED[entry.name] ?? entry.name);
    const text = await readFile(source, "utf8");
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(
      join(folder, file),
      text.replaceAll("__NAME__", name).replaceAll("__VERSION__", version),
      { flag: "wx" },
    );
    files.push(file);
  }
  return { folder, files: files.sort() };
}
