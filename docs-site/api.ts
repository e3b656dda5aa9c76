import { globSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { ROOT } from "./pages.ts";

/** A subpath that a package offers to its users, such as `@selvedge/core/agent`. */
export interface PublicModule {
  readonly name: string;
  /** The source of its exports, in the repository. */
  readonly source: string;
}

interface Manifest {
  name: string;
  exports: Record<string, { "selvedge-source": string }>;
}

/** Returns every public subpath, as the packages list them in `exports`. Of two with one source, the first. */
export function publicModules(): PublicModule[] {
  const modules = globSync("packages/*/package.json", { cwd: ROOT }).flatMap((file) => {
    const { name, exports } = JSON.parse(readFileSync(join(ROOT, file), "utf8")) as Manifest;
    return Object.entries(exports).map(([subpath, { "selvedge-source": source }]) => ({
      name: join(name, subpath),
      source: join(file, "..", source),
    }));
  });
  const first = new Map(modules.toReversed().map((module) => [module.source, module]));
  return [...first.values()].sort((a, b) => a.name.localeCompare(b.name, "en"));
}

/** Returns the address of a subpath's reference on the site. */
export function apiPath({ name }: PublicModule): string {
  return `api/${name.replace(/^@selvedge\//, "").replaceAll("/", "-")}`;
}

/** Returns the API reference as Markdown: one page per public subpath, from the types and comments in the sources. */
export async function apiPages(folder: string): Promise<{ path: string; text: string }[]> {
  const modules = publicModules();
  await generate(modules, folder);
  // The generator puts a number after names that it finds ambiguous, so its links are rewritten to our addresses.
  const files = globSync("**/*.md", { cwd: folder });
  const pages = new Map(
    files.map((file) => {
      const title = /^# (.+)$/m.exec(readFileSync(join(folder, file), "utf8"))?.[1];
      const found = modules.find(({ name }) => name === title);
      return [file, found ? apiPath(found) : "api/index"];
    }),
  );
  return files.map((file) => {
    const text = readFileSync(join(folder, file), "utf8").replaceAll(
      /\]\(([^)#\s]+\.md)(#[^)\s]+)?\)/g,
      (_, link: string, heading = "") => `](/${pages.get(join(file, "..", link))}${heading})`,
    );
    return { path: pages.get(file)!, text };
  });
}

/** The part of TypeDoc that is used here. Only the site's lock file installs it, so its types may be absent. */
interface TypeDoc {
  Application: {
    bootstrapWithPlugins(options: object): Promise<{
      convert(): Promise<{ children?: { name: string }[] } | undefined>;
      generateOutputs(project: object): Promise<void>;
    }>;
  };
}

const TYPEDOC: string = "typedoc";

/** TypeDoc reads the sources with its own TypeScript, because it does not support TypeScript 7. */
async function generate(modules: readonly PublicModule[], folder: string): Promise<void> {
  const { Application } = (await import(TYPEDOC)) as TypeDoc;
  // The first entry that exports a name documents it; the package's root then refers to it.
  const byDepth = modules.toSorted((a, b) => b.name.split("/").length - a.name.split("/").length);
  const app = await Application.bootstrapWithPlugins({
    plugin: ["typedoc-plugin-markdown"],
    entryPoints: byDepth.map(({ source }) => join(ROOT, source)),
    outputs: [
      {
        name: "markdown",
        path: folder,
        options: {
          outputFileStrategy: "modules",
          hidePageHeader: true,
          hideBreadcrumbs: true,
          useHTMLAnchors: true,
          parametersFormat: "table",
          interfacePropertiesFormat: "table",
          typeDeclarationFormat: "table",
        },
      },
    ],
    tsconfig: join(ROOT, "docs-site/tsconfig.api.json"),
    name: "API reference",
    readme: "none",
    sort: ["alphabetical"],
    skipErrorChecking: true,
    disableSources: true,
    excludePrivate: true,
    excludeInternal: true,
    excludeExternals: true,
    logLevel: "Error",
  });
  const project = await app.convert();
  if (!project) throw new Error("TypeDoc could not read the sources.");
  for (const reflection of project.children ?? []) {
    const found = modules.find(({ source }) => {
      const path = relative("packages", source).replace(/(?:\/index)?\.ts$/, "");
      return path === reflection.name;
    });
    if (found) reflection.name = found.name;
  }
  await app.generateOutputs(project);
}
