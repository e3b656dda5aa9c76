import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
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

describe("a package", () => {
  const packages = globSync("packages/*/package.json", { cwd: ROOT }).map((path) => dirname(path));

  it.each(packages)("%s is built: tsconfig.json refers to it", (path) => {
    expect(read("tsconfig.json")).toContain(`"${path}"`);
  });

  it.each(packages)("%s has a rule for what it may import in .oxlintrc.json", (path) => {
    const { overrides } = JSON.parse(read(".oxlintrc.json").replaceAll(/^\s*\/\/.*$/gm, "")) as {
      overrides: { files: string[]; rules?: Record<string, unknown> }[];
    };
    const ruled = overrides
      .filter(({ rules }) => rules && "no-restricted-imports" in rules)
      .flatMap(({ files }) => files);
    const names = ruled.flatMap((glob) => /^packages\/(?:\{([^}]+)\}|([\w-]+))\//.exec(glob)?.slice(1) ?? []);
    expect(names.flatMap((list) => list?.split(",") ?? [])).toContain(basename(path));
  });

  it.each(packages)("%s has a README and a licence", (path) => {
    for (const file of ["README.md", "LICENSE"])
      expect(existsSync(`${ROOT}${path}/${file}`), file).toBe(true);
  });
});
