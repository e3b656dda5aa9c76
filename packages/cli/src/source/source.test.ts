import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { readPathAliases } from "./path-aliases.ts";
import { stripTypes } from "../build/strip-types.ts";
import { dropUnusedImports } from "./drop-unused-imports.ts";
import { growthOf } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { findImports } from "./find-imports.ts";
import { findOptions } from "./find-options.ts";

const importsOf = (source: string): string[] =>
  findImports(source).map(
    ({ module, line, names, typeOnly }) =>
      `${line} ${module}${typeOnly ? " (types)" : ""}${names.map(({ name, line: at }) => ` ${name}:${at}`).join("")}`,
  );

describe("findImports", () => {
  it("finds every way to load a module, with the line of each name", () => {
    expect(
      importsOf(`import "./setup";
import Whole, { Agent as A, type Tool,
  createTool } from "@mastra/core";
import * as all from '@mastra/rag';
import type { Memory } from "@mastra/memory";
import { type A, type B } from "types-only";
import {} from "empty";
export { Mastra } from "@mastra/core/mastra";
export * from "./more.js";
export type { X } from "./x";
const pg = await import("@mastra/pg"), mcp = require("@mastra/mcp");`),
    ).toEqual([
      "1 ./setup",
      "2 @mastra/core default:2 Agent:2 createTool:3",
      "4 @mastra/rag",
      "5 @mastra/memory (types)",
      "6 types-only (types)",
      "7 empty",
      "8 @mastra/core/mastra Mastra:8",
      "9 ./more.js",
      "10 ./x (types)",
      "11 @mastra/pg",
      "11 @mastra/mcp",
    ]);
  });

  it("passes over comments, template texts and values named type or from", () => {
    expect(
      importsOf(`// import { a } from "comment";
/* import "block"; */
const text = \`import { b } from "template";\`;
import type from "a-default";
import { from } from "from-a-name";
export const from = "none";
const shown = 'import "d"; from "string"';
import { c } from "real";`),
    ).toEqual(["4 a-default default:4", "5 from-a-name from:5", "8 real c:8"]);
  });

  it("says where a module's name stands", () => {
    const source = 'import { a } from "./a";\nawait import("./b");';
    expect(
      findImports(source).map(({ start, module }) => source.slice(start, start + module.length)),
    ).toEqual(["./a", "./b"]);
  });

  it.each(["import { ", "/*", "`", '"', "export ", ";import a ", "import(", "    "])(
    "takes time in proportion to a file of %j",
    async (part) => {
      const growth = await growthOf((size) => findImports(part.repeat(size)), 20_000);
      expect(growth).toBeLessThan(1.5);
    },
  );
});

describe("findOptions", () => {
  it("finds the options of a call with their path, value and line", () => {
    const source = `new Other({ workflows });
export const mastra = new Mastra<Agents>({
  agents: { a, voice: new Agent({ name: "{" }) },
  // scorers: {},
  server: { cors: { origin: "*" }, middleware: [{ path: "/x", handler() { return { deep: 1 }; } }] },
  workflows,
  "editor": one ? { a } : b,
});
const after = { voice: 1 };`;
    const found = findOptions(source, "Mastra").map(
      ({ path, value, line }) => `${line} ${path} ${value.slice(0, 3)}`,
    );
    expect(found).toEqual(
      expect.arrayContaining(["3 agents { a", '5 server.cors.origin "*"', "6 workflows ", "7 editor one"]),
    );
    expect(found.some((line) => /^\d+ (voice|scorers)\b/.test(line))).toBe(false);
  });

  it("finds the fields of a schema inside a call", () => {
    const source = "createTool({ inputSchema: z.object({ context: z.string(), city: z.string() }) })";
    expect(findOptions(source, "createTool").map(({ path }) => path)).toEqual([
      "inputSchema",
      "inputSchema.().context",
      "inputSchema.().city",
    ]);
  });
});

describe("readPathAliases", () => {
  it("finds the files that tsconfig.json means, also where it extends another", () => {
    const folder = mkdtempSync(join(tmpdir(), "selvedge-paths-"));
    writeFileSync(
      join(folder, "base.json"),
      `{ "compilerOptions": { "paths": { "@/*": ["./src/*"], "lib": ["./lib/main"] } } }`,
    );
    writeFileSync(join(folder, "tsconfig.json"), `{ // with a comment\n "extends": "./base", }`);
    const aliases = readPathAliases(folder);
    const url = (path: string): string => pathToFileURL(join(folder, path)).href;
    expect(aliases("@/agents/weather")).toEqual([url("src/agents/weather")]);
    expect(aliases("lib")).toEqual([url("lib/main")]);
    expect([aliases("@mastra/core"), aliases("./x"), aliases("library")]).toEqual([[], [], []]);
    rmSync(folder, { recursive: true });
  });
});

describe("dropUnusedImports", () => {
  it("drops what only types used, and keeps every line in its place", () => {
    const source = [
      'import { Agent, AgentConfig, type Other, stream as start } from "@mastra/core/agent";',
      'import Config, { Deep } from "./config";',
      'import * as tools from "./tools";',
      'import * as types from "./types";',
      'import "./side-effect";',
      "// AgentConfig in a comment is no use of it.",
      "export const name = 'Deep Config';",
      "export const agent = new Agent(start, `${tools.all}`);",
    ];
    const code = dropUnusedImports(stripTypes(source.join("\n"), "a.ts")).split("\n");
    expect(code[0]!.replaceAll(/\s+/g, " ")).toBe(
      'import { Agent, stream as start } from "@mastra/core/agent";',
    );
    expect(code.slice(1, 4).map((line) => line.trim())).toEqual([
      ";",
      'import * as tools from "./tools";',
      ";",
    ]);
    expect(code.slice(4)).toEqual(source.slice(4));
  });

  it("drops nothing from sources that say which imports are types", () => {
    const core = fileURLToPath(new URL("../../../core/src/", import.meta.url));
    for (const file of globSync("{agent,run,thread,workspace}/**/*.ts", { cwd: core })) {
      const code = stripTypes(readFileSync(core + file, "utf8"), file);
      expect(dropUnusedImports(code) === code, file).toBe(true);
    }
  });

  it("keeps a name that is spread, or used in a template or a tag", () => {
    const source = 'import { a, c, d } from "m";\nconst x = [`${a}`, <c />, ...d];';
    expect(dropUnusedImports(source)).toBe(source);
  });
});
