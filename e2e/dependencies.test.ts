import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const read = (path: string): string => readFileSync(`${ROOT}${path}`, "utf8");
const EXACT = /^\d+\.\d+\.\d+(-[\w.]+)?$/;

interface Manifest {
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
}

describe("dependencies", () => {
  it.each(
    globSync(["package.json", "{packages/*,examples,bench,conformance,docs-site}/package.json"], {
      cwd: ROOT,
    }),
  )("of %s have exact versions", (path) => {
    const { dependencies, devDependencies } = JSON.parse(read(path)) as Manifest;
    const inexact = Object.entries({ ...dependencies, ...devDependencies }).filter(
      ([name, version]) => !EXACT.test(version) && !name.startsWith("@selvedge/") && version !== "*",
    );
    expect(inexact).toEqual([]);
  });

  it.each(["package-lock.json", "docs-site/package-lock.json"])("in %s name no registry", (path) => {
    expect(read(path)).not.toMatch(/"resolved": "https?:/);
  });
});
