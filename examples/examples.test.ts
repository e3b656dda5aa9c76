import { execFile } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { DEFAULT_RUN_LIMITS, DEFAULT_THREAD_LIMITS } from "@selvedge/core/agent";
import { describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const EXAMPLES = globSync("examples/*/index.ts", { cwd: ROOT });
const PAGES = globSync(["*.md", "docs/*.md", "packages/*/README.md"], { cwd: ROOT });

const run = promisify(execFile);
const read = (path: string): string => readFileSync(`${ROOT}${path}`, "utf8");

describe.concurrent("an example", { timeout: 60_000 }, () => {
  it.each(EXAMPLES)("%s checks itself and succeeds", async (path) => {
    await run(process.execPath, ["--conditions=selvedge-source", path], { cwd: ROOT });
  });
});

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

  it("quotes every example somewhere", () => {
    const quoted = new Set(snippets.map((snippet) => basename(dirname(snippet.example))));
    expect([...quoted].sort()).toEqual(EXAMPLES.map((path) => basename(dirname(path))).sort());
  });

  it.each(PAGES)("%s links to files that exist", (page) => {
    const links = [...read(page).matchAll(/\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)/g)].map(
      (match) => match[1]!,
    );
    for (const link of links) expect(existsSync(new URL(link, `file://${ROOT}${page}`)), link).toBe(true);
  });

  it.each(Object.entries(DEFAULT_RUN_LIMITS))("docs/limits.md tells the default of %s", (name, value) => {
    const row = read("docs/limits.md")
      .split("\n")
      .find((line) => line.includes(`limits.${name}`));
    expect(row).toContain(`| ${value.toLocaleString("en-US")} `);
  });

  const { signal, mailbox, lease, retentionMs } = DEFAULT_THREAD_LIMITS;
  const threadLimits = Object.entries({ signal, mailbox, lease }).flatMap(([group, limits]) =>
    Object.entries(limits).map(([name, value]): [string, number] => [`${group}.${name}`, value]),
  );
  it.each([...threadLimits, ["retentionMs", retentionMs] as const])(
    "docs/threads.md tells the default of %s",
    (name, value) => {
      const row = read("docs/threads.md")
        .split("\n")
        .find((line) => line.includes(`\`threads.${name}\``));
      expect(row).toContain(`| ${value.toLocaleString("en-US")} `);
    },
  );
});
