// Packs every package as it would be published, for projects elsewhere: npm run pack -- [folder]. Run by `npm run pack`, which builds first.
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = resolve(process.env.INIT_CWD ?? ".", process.argv[2] ?? join(root, "dist"));
mkdirSync(folder, { recursive: true });
// Of an earlier version: whoever installs *.tgz would get both.
for (const name of readdirSync(folder)) if (/^selvedge-.*\.tgz$/.test(name)) rmSync(join(folder, name));

const workspaces = readdirSync(join(root, "packages")).flatMap((name) => ["--workspace", `packages/${name}`]);
const args = ["pack", "--silent", "--ignore-scripts", "--pack-destination", folder, ...workspaces];
const { npm_execpath: npm, npm_node_execpath: node = process.execPath } = process.env;
const options = { cwd: root, stdio: ["ignore", "ignore", "inherit"] };
const { status } = npm
  ? spawnSync(node, [npm, ...args], options)
  : spawnSync("npm", args, { ...options, shell: process.platform === "win32" });
if (status !== 0) process.exit(status ?? 1);

const count = readdirSync(folder).filter((name) => name.endsWith(".tgz")).length;
console.log(`${count} packages are in ${relative(process.cwd(), folder) || "."}. In your project:\n`);
console.log(`  npm install ${join(folder, "*.tgz")}`);
