import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const MODULES = join(ROOT, "node_modules");

/** Known by both names, as in a program that names some packages by the alias; npm adds the other name for those that need it. */
const BOTH = ["core", "memory", "libsql", "mcp", "client-js"] as const;
const OWN = ["protocol", "server", "testing"] as const;

/**
 * A project with our packages as they are published, some of them under the scope `@mastra` too. The folders are where npm puts them
 * for `"@mastra/core": "npm:@selvedge/core"`; packages of others are those of this repository, so nothing is fetched.
 */
export async function installAliased(): Promise<{ folder: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), "selvedge-alias-"));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const tarballs = await pack(join(folder, "tarballs"));
    const modules = join(folder, "node_modules");
    await linkOthers(modules);
    for (const name of [...BOTH, ...OWN]) await unpack(tarballs.get(name)!, join(modules, "@selvedge", name));
    for (const name of BOTH) await unpack(tarballs.get(name)!, join(modules, "@mastra", name));
    await writeFile(join(folder, "package.json"), '{ "type": "module", "private": true }\n');
    return { folder, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function pack(destination: string): Promise<Map<string, string>> {
  const names = [...BOTH, ...OWN];
  await run(process.execPath, [join(ROOT, "scripts", "build-packages.mjs"), ...names], { cwd: ROOT });
  await mkdir(destination);
  const workspaces = names.flatMap((name) => ["--workspace", `packages/${name}`]);
  // This Node in front: npm is the machine's, whatever Node that has.
  const env = { ...process.env, PATH: dirname(process.execPath) + delimiter + process.env["PATH"] };
  await run(
    "npm",
    ["pack", "--ignore-scripts", "--offline", "--pack-destination", destination, ...workspaces],
    {
      cwd: ROOT,
      env,
      shell: process.platform === "win32",
    },
  );
  const files = await readdir(destination);
  return new Map(
    names.map((name) => {
      const file = files.find((one) => new RegExp(`^selvedge-${name}-\\d`).test(one));
      if (file === undefined) throw new Error(`npm pack made no tarball of ${name}: ${files.join(", ")}`);
      return [name, join(destination, file)];
    }),
  );
}

async function unpack(tarball: string, target: string): Promise<void> {
  await mkdir(target, { recursive: true });
  await run("tar", ["-xzf", tarball, "-C", target, "--strip-components=1"]);
}

/** Links to what our packages need of others. */
async function linkOthers(modules: string): Promise<void> {
  const wanted = new Set<string>(["zod"]);
  for (const name of [...BOTH, ...OWN]) {
    const manifest = await readFile(join(ROOT, "packages", name, "package.json"), "utf8");
    const { dependencies = {} } = JSON.parse(manifest) as { dependencies?: Record<string, string> };
    for (const dependency of Object.keys(dependencies))
      if (!dependency.startsWith("@selvedge/")) wanted.add(dependency);
  }
  for (const name of wanted) {
    const link = join(modules, name);
    await mkdir(dirname(link), { recursive: true });
    await symlink(join(MODULES, name), link, "junction");
  }
}
