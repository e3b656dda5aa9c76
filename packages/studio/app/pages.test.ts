import { describe, expect, it } from "vitest";
import DOCS from "../../../docs/studio.md?raw";
import { PAGES } from "./pages.ts";

describe("the pages of the studio", () => {
  it.each(PAGES.flatMap(({ title }) => title ?? []))("has %s in docs/studio.md", (title) => {
    expect(DOCS).toContain(`**${title}**`);
  });

  it("have a title if they are in the sidebar", () => {
    for (const { path, icon, title } of PAGES) if (icon) expect(title, path).toBeDefined();
  });
});
