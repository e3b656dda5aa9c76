import { describe, expect, it } from "vitest";
import { definePage, hrefOf, matchPage } from "./page-table.ts";

const Page = (): null => null;
const PAGES = [
  definePage({ path: "/threads", title: "Threads", icon: "thread", Page }),
  definePage({ path: "/tools/:toolId?", title: "Tools", icon: "tool", Page }),
  definePage({ path: "/threads/:threadId", Page }),
  definePage({ path: "/threads/:threadId/runs/:runId?", title: "Runs", Page }),
];

describe("matchPage", () => {
  it.each([
    ["", "/threads", {}, "/threads"],
    ["threads", "/threads", {}, "/threads"],
    ["threads/a", "/threads/:threadId", { threadId: "a" }, "/threads/a"],
    ["threads/a/runs", "/threads/:threadId/runs/:runId?", { threadId: "a" }, "/threads/a/runs"],
    ["threads/a/runs/b", "/threads/:threadId/runs/:runId?", { threadId: "a", runId: "b" }, "/threads/a/runs"],
    ["tools", "/tools/:toolId?", {}, "/tools"],
    ["tools/x", "/tools/:toolId?", { toolId: "x" }, "/tools"],
  ])("leads /%s to the page %s", (address, path, params, place) => {
    const match = matchPage(PAGES, address.split("/").filter(Boolean));
    expect(match).toEqual({ page: expect.objectContaining({ path }), params, place });
  });

  it.each(["nowhere", "threads/a/else", "threads/a/runs/b/c", "tools/x/y"])(
    "finds no page at /%s",
    (address) => {
      expect(matchPage(PAGES, address.split("/"))).toBeUndefined();
    },
  );
});

describe("hrefOf", () => {
  it("is the address of a page without its parameters", () => {
    expect(PAGES.slice(0, 2).map(hrefOf)).toEqual(["/threads", "/tools"]);
  });
});
