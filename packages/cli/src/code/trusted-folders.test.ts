import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { TrustedFolders } from "./trusted-folders.ts";

async function newHome(): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), "selvedge-home-"));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  return home;
}

const fileIn = (home: string): string => join(home, ".selvedge", "trusted-folders.json");

describe("TrustedFolders", () => {
  it("trusts what the user trusted, also in another process, and nothing else", async () => {
    const home = await newHome();
    const folders = new TrustedFolders(home);
    expect(await folders.find("/work/project")).toBeUndefined();
    const entry = await folders.trust("/work/project");
    expect(await new TrustedFolders(home).find("/work/project")).toEqual(entry);
    for (const other of ["/work", "/work/project/sub", "/work/project2", "__proto__", "toString"])
      expect(await folders.find(other)).toBeUndefined();
  });

  it("keeps the folders that were trusted before", async () => {
    const home = await newHome();
    const folders = new TrustedFolders(home);
    const first = await folders.trust("/work/one");
    const second = await folders.trust("/work/two");
    expect(await folders.find("/work/one")).toEqual(first);
    expect(first.storeId).not.toBe(second.storeId);
  });

  it("is readable by its user only", async () => {
    const home = await newHome();
    await new TrustedFolders(home).trust("/work/project");
    expect((await stat(fileIn(home))).mode & 0o077).toBe(0);
    expect((await stat(join(home, ".selvedge"))).mode & 0o077).toBe(0);
  });

  it("never trusts the home directory or a folder around it", async () => {
    const home = await newHome();
    const folders = new TrustedFolders(home);
    for (const folder of [home, join(home, ".."), "/"]) {
      expect(folders.canTrust(folder)).toBe(false);
      await folders.trust(folder);
      expect(await folders.find(folder)).toBeUndefined();
    }
    for (const folder of [join(home, "project"), `${home}-other`, join(home, "..project")])
      expect(folders.canTrust(folder)).toBe(true);
  });

  it("ignores a record whose store could be anywhere", async () => {
    const home = await newHome();
    const folders = new TrustedFolders(home);
    await mkdir(join(home, ".selvedge"));
    await writeFile(fileIn(home), JSON.stringify({ "/a": { storeId: "../../x" }, "/b": null, "/c": {} }));
    for (const folder of ["/a", "/b", "/c"]) expect(await folders.find(folder)).toBeUndefined();
  });

  it("says what to do about a record that it cannot read, and leaves it", async () => {
    const home = await newHome();
    await mkdir(join(home, ".selvedge"));
    await writeFile(fileIn(home), "{");
    await expect(new TrustedFolders(home).trust("/a")).rejects.toThrow(/cannot be read.*Repair or delete it/);
    expect(await readFile(fileIn(home), "utf8")).toBe("{");
  });
});
