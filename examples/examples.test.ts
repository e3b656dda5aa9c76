import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, dirname, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { DEFAULT_RUN_LIMITS, DEFAULT_THREAD_LIMITS } from "@selvedge/core/agent";
import { describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const EXAMPLES = globSync("examples/*/index.ts", { cwd: ROOT });
const PAGES = globSync(["*.md", "docs/*.md", "packages/*/README.md"], { cwd: ROOT });

const read = (path: string): string => readFileSync(`${ROOT}${path}`, "utf8");

/** The names under which a page's headings can be linked to. */
const anchors = (page: string): string[] =>
  [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
    title!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, "")
      .replaceAll(" ", "-"),
  );

/** Options of public interfaces, as the sources of a package have them. */
function publicOptions(folder: string): { name: string; option: string }[] {
  const exported = [...read(`${folder}/package.json`).matchAll(/"selvedge-source": "\.\/(\S+\.ts)"/g)]
    .map(([, file]) => read(`${folder}/${file}`))
    .join("\n");
  const sources = globSync(`${folder}/src/**/*.ts`, { cwd: ROOT }).filter((file) => !file.includes(".test"));
  return sources.flatMap((file) =>
    [...read(file).matchAll(/^export interface (\w+)[^{]*\{\n([\s\S]*?)^\}/gm)]
      .filter(([, name]) => /(?:Options|Config|Settings|Limits|Policy|Input)$/.test(name!))
      .filter(([, name]) => new RegExp(`\\b${name}\\b`).test(exported))
      .flatMap(([, name, body]) =>
        [...body!.matchAll(/^ {2}(\w+)\??[:(]/gm)].map(([, option]) => ({ name: name!, option: option! })),
      ),
  );
}

describe("a page", () => {
  // A marker names the example; the code block after it stands in that file as it is.
  const snippets = PAGES.flatMap((page) =>
    [...read(page).matchAll(/<!-- from (examples\/\S+) -->\n+```ts\n([\s\S]*?)```/g)].map((match) => ({
      page,
      example: match[1]!,
      code: match[2]!,
    })),
  );

  it.each(snippets)("$page quotes $example as it is", ({ example, code }) => {
    expect(read(example)).toContain(code);
  });

  it.each(globSync("packages/*", { cwd: ROOT }))("names every public option of %s", (folder) => {
    const words = new Set(PAGES.flatMap((page) => read(page).match(/\w+/g) ?? []));
    const unnamed = publicOptions(folder).filter(({ option }) => !words.has(option));
    expect(unnamed).toEqual([]);
  });

  it("quotes every example somewhere", () => {
    const quoted = new Set(snippets.map((snippet) => basename(dirname(snippet.example))));
    expect([...quoted].sort()).toEqual(EXAMPLES.map((path) => basename(dirname(path))).sort());
  });

  it.each(PAGES)("%s links to files, pictures and headings that exist", (page) => {
    const text = read(page).replaceAll(/^```[\s\S]*?^```/gm, "");
    const links = [...text.matchAll(/\]\(([^)\s]+)\)|\b(?:src|srcset|href)="([^"]+)"/g)]
      .map((match) => match[1] ?? match[2]!)
      .filter((link) => !/^https?:/.test(link));
    for (const link of links) {
      const [file = "", heading] = link.split("#");
      const target = file === "" ? page : posix.join(posix.dirname(page), file);
      expect(existsSync(`${ROOT}${target}`), link).toBe(true);
      if (heading !== undefined) expect(anchors(target), link).toContain(heading);
    }
  });

  it.each(PAGES)("%s names scripts that exist", (page) => {
    const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
    for (const [, script] of read(page).matchAll(/\bnpm run ([a-z][\w:-]*)/g))
      expect(Object.keys(scripts), page).toContain(script);
  });

  const packages = globSync("packages/*/package.json", { cwd: ROOT }).map((path) => dirname(path));

  it.each(packages)("README.md links to %s", (path) => {
    expect(read("README.md")).toContain(`](${path}/README.md)`);
  });

  it.each(packages)("AGENTS.md has %s on its map", (path) => {
    expect(read("AGENTS.md")).toMatch(new RegExp(`^packages/.*\\b${basename(path)}\\b`, "m"));
  });

  it.each(globSync("docs/*.md", { cwd: ROOT }))("%s can be reached from README.md", (page) => {
    expect(read("README.md")).toContain(`](${page})`);
  });

  it.each(Object.entries(DEFAULT_RUN_LIMITS))("docs/limits.md tells the default of %s", (name, value) => {
    const row = read("docs/limits.md")
      .split("\n")
      .find((line) => line.includes(`limits.${name}`));
    expect(row).toContain(`| ${value.toLocaleString("en-US")} `);
  });

  const { signal, mailbox, lease, keepHistory: _, ...single } = DEFAULT_THREAD_LIMITS;
  const threadLimits = Object.entries({ signal, mailbox, lease }).flatMap(([group, limits]) =>
    Object.entries(limits).map(([name, value]): [string, number] => [`${group}.${name}`, value]),
  );
  it.each([...threadLimits, ...Object.entries(single)])(
    "docs/threads.md tells the default of %s",
    (name, value) => {
      const row = read("docs/threads.md")
        .split("\n")
        .find((line) => line.includes(`\`threads.${name}\``));
      expect(row).toContain(`| ${value.toLocaleString("en-US")} `);
    },
  );
});
