import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { apiPath, publicModules } from "./api.ts";
import { checkLinks } from "./check-links.ts";
import { llmsIndex } from "./llms.ts";
import { readSections, ROOT } from "./pages.ts";
import { withSiteLinks } from "./site-links.ts";

function siteOf(files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), "selvedge-site-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

describe("the documentation site", () => {
  const pages = readSections().flatMap((section) => section.pages);

  it("has every page under one address", () => {
    expect(pages.length).toBeGreaterThan(40);
    expect(new Set(pages.map(({ path }) => path)).size).toBe(pages.length);
  });

  it.each(pages.map(({ file, text }) => ({ file, text })))("finds what $file links to", ({ file, text }) => {
    expect(withSiteLinks(file, text)).not.toMatch(/\]\((?!https?:|\/|#)/);
  });

  it("turns links of the repository into links of the site", () => {
    const text = "[a](threads.md#limits) [b](../bench) [c](../examples/hello/index.ts) [d](#here)";
    expect(withSiteLinks("docs/server.md", text)).toBe("[a](/threads#limits) [b](/bench) c [d](#here)");
    expect(withSiteLinks("README.md", '<img src="docs/images/x.png">')).toBe('<img src="/images/x.png">');
    expect(withSiteLinks("docs/server.md", "```\n[a](nowhere.md)\n```")).toContain("(nowhere.md)");
  });

  it("refuses a link to a file that does not exist", () => {
    expect(() => withSiteLinks("docs/server.md", "[a](nowhere.md)")).toThrow(
      "docs/server.md links to nowhere.md, which does not exist.",
    );
  });

  it("has a reference page for every public subpath, under one address each", () => {
    const modules = publicModules();
    expect(modules.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["selvedge", "@selvedge/core", "@selvedge/core/agent", "@selvedge/server/node"]),
    );
    expect(new Set(modules.map(apiPath)).size).toBe(modules.length);
    for (const { source } of modules) expect(existsSync(`${ROOT}${source}`), source).toBe(true);
  });

  it("lists each page with its subject in llms.txt", () => {
    const index = llmsIndex(readSections());
    for (const { title, path } of pages) expect(index).toContain(`[${title}](/${path}.md): `);
  });
});

describe("a built site", () => {
  it("is accepted when every link leads somewhere", () => {
    const folder = siteOf({
      "index.html": '<a href="/threads#limits">Limits</a> <a href="https://example.com/">elsewhere</a>',
      "threads.html": '<h2 id="limits">Limits</h2> <a href="#limits">#</a> <a href="/">Home</a>',
    });
    expect(checkLinks(folder)).toEqual({ pages: 2, problems: [] });
  });

  it("is refused with each link that leads nowhere", () => {
    const folder = siteOf({
      "index.html": '<a href="/gone">Gone</a> <a href="/threads#gone">Gone</a> <img src="/images/gone.png">',
      "threads.html": '<h2 id="limits">Limits</h2>',
    });
    expect(checkLinks(folder).problems).toEqual([
      "index.html: /gone does not exist",
      "index.html: /threads#gone names a heading that does not exist",
      "index.html: /images/gone.png does not exist",
    ]);
  });
});
