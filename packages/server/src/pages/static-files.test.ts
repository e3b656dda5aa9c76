import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { staticFile } from "./static-files.ts";

let parent = "";
let site = "";

beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), "selvedge-static-"));
  site = join(parent, "site");
  await mkdir(join(site, "assets"), { recursive: true });
  await writeFile(join(parent, "secret.txt"), "secret");
  await writeFile(join(site, "index.html"), "the page");
  await writeFile(join(site, "assets", "app-1.js"), "code");
});
afterAll(() => rm(parent, { recursive: true, force: true }));

async function get(path: string, accept = "text/html"): Promise<string | undefined> {
  const response = await staticFile(site, new Request(`http://localhost${path}`, { headers: { accept } }));
  return response && `${response.headers.get("cache-control")}: ${await response.text()}`;
}

describe("staticFile", () => {
  it.each(["/", "/threads", "/threads/a-thread", "/threads/v1.2", "/threads/notes.txt", "/threads/a%2Fb"])(
    "gives a browser the page at %s",
    async (path) => {
      expect(await get(path)).toBe("no-cache: the page");
    },
  );

  it("lets files whose names change with their contents be kept for ever", async () => {
    expect(await get("/assets/app-1.js", "*/*")).toBe("public, max-age=31536000, immutable: code");
  });

  it.each(["/assets/gone.js", "/assets/"])("does not give the page for a missing file: %s", async (path) => {
    expect(await get(path)).toBeUndefined();
  });

  it("gives the first page to whoever asks, also to a program", async () => {
    expect(await get("/", "*/*")).toBe("no-cache: the page");
  });

  it("leaves programs that want no page alone", async () => {
    expect(await get("/threads", "application/json")).toBeUndefined();
  });

  it.each([
    "/..%2fsecret.txt",
    "/%2e%2e/secret.txt",
    "/assets/..%2f..%2fsecret.txt",
    "/..%5csecret.txt",
    "/%00",
    "/%zz",
  ])("never leaves its folder: %s", async (path) => {
    expect((await get(path)) ?? "").not.toContain("secret");
  });
});
