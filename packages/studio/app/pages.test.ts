import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { PAGES } from "./pages.ts";

const DOCS = readFileSync(new URL("../../../docs/studio.md", import.meta.url), "utf8");

describe("the pages of the studio", () => {
  it.each(PAGES.flatMap(({ title }) => title ?? []))("has %s in docs/studio.md", (title) => {
    expect(DOCS).toContain(`**${title}**`);
  });

  it("have a title if they are in the sidebar", () => {
    for (const { path, icon, title } of PAGES) if (icon) expect(title, path).toBeDefined();
  });
});
