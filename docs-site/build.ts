// Builds the documentation site into dist/docs and checks its links.
//   npm run docs
//   npm run docs -- --serve    and serves it at http://localhost:4173
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { apiPages } from "./api.ts";
import { checkLinks } from "./check-links.ts";
import { llmsFull, llmsIndex } from "./llms.ts";
import { readSections, ROOT } from "./pages.ts";
import { withSiteLinks } from "./site-links.ts";

const HERE = fileURLToPath(new URL("./", import.meta.url));
const STAGE = join(HERE, "tmp");
const VITEPRESS = join(HERE, "node_modules/vitepress/bin/vitepress.js");

if (!existsSync(VITEPRESS)) install();
await stage();
run(process.execPath, [VITEPRESS, "build", HERE]);
const { pages, problems } = checkLinks(join(ROOT, "dist/docs"));
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exit(1);
console.log(`${pages} pages in dist/docs, no broken links`);
if (process.argv.includes("--serve")) run(process.execPath, [VITEPRESS, "preview", HERE]);

/** The generator has a separate lock file, so that only people who build the site install it. */
function install(): void {
  console.log("Installing the site generator …");
  const npm = process.env["npm_execpath"];
  const args = ["ci", "--no-audit", "--no-fund", "--loglevel=error"];
  if (npm) run(process.env["npm_node_execpath"] ?? process.execPath, [npm, ...args]);
  else run("npm", args);
}

/** Writes the pages for the generator, and as Markdown for programs, with llms.txt and llms-full.txt. */
async function stage(): Promise<void> {
  rmSync(STAGE, { recursive: true, force: true });
  const sections = readSections().map((section) => ({
    ...section,
    pages: section.pages.map((page) => ({ ...page, text: withSiteLinks(page.file, page.text) })),
  }));
  for (const { path, text } of sections.flatMap((section) => section.pages)) {
    write(`${path}.md`, text);
    write(`public/${path}.md`, text);
  }
  for (const { path, text } of await apiPages(join(STAGE, "typedoc"))) write(`${path}.md`, text);
  rmSync(join(STAGE, "typedoc"), { recursive: true });
  write("public/llms.txt", llmsIndex(sections));
  write("public/llms-full.txt", llmsFull(sections));
  cpSync(join(ROOT, "packages/studio/app/icon.svg"), join(STAGE, "public/icon.svg"));
  cpSync(join(ROOT, "docs/images"), join(STAGE, "public/images"), { recursive: true });
}

function write(name: string, text: string): void {
  const file = join(STAGE, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function run(command: string, args: string[]): void {
  const { status } = spawnSync(command, args, { cwd: HERE, stdio: ["ignore", "inherit", "inherit"] });
  if (status !== 0) process.exit(status ?? 1);
}
