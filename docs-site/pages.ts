import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export interface Page {
  /** The file in the repository. */
  readonly file: string;
  /** The address on the site, without an ending. */
  readonly path: string;
  readonly title: string;
  readonly text: string;
}

export interface Section {
  readonly name: string;
  readonly pages: readonly Page[];
}

export const ROOT: string = fileURLToPath(new URL("../", import.meta.url));

const FILES = globSync(
  [
    "{README,PROTOCOL,AGENTS,CONTRIBUTING,SECURITY}.md",
    "docs/*.md",
    "packages/*/README.md",
    "bench/README.md",
  ],
  { cwd: ROOT },
).sort((a, b) => a.localeCompare(b, "en"));

/** Returns the address of a file on the site, or `undefined` if it is not a page. */
export function pagePath(file: string): string | undefined {
  if (!FILES.includes(file)) return undefined;
  if (file === "README.md") return "index";
  if (file === "AGENTS.md") return "map";
  return file
    .toLowerCase()
    .replace(/^docs\//, "")
    .replace(/(?:\/readme)?\.md$/, "");
}

const docs = (...names: string[]): string[] => names.map((name) => `docs/${name}.md`);

const GROUPS: Record<string, string[]> = {
  "Get started": ["README.md", ...docs("agents", "tools", "models", "switching")],
  Guides: docs(
    "streaming",
    "structured-output",
    "processors",
    "guardrails",
    "prompt-processors",
    "memory",
    "observational-memory",
    "threads",
    "notifications",
    "schedules",
    "controller",
    "workflows",
    "scorers",
    "storage",
    "postgres",
    "rag",
    "vector-stores",
    "mcp",
    "workspace",
    "browser",
    "server",
    "client",
    "react",
    "testing",
  ),
  Operating: docs("studio", "cli", "operating", "telemetry"),
  Reference: [
    ...docs("options", "limits", "durability", "architecture", "speed"),
    "PROTOCOL.md",
    "bench/README.md",
  ],
  Packages: FILES.filter((file) => file.startsWith("packages/")),
  Contribute: ["CONTRIBUTING.md", "AGENTS.md", "SECURITY.md"],
};

/** Returns the groups of the sidebar, with their pages in reading order. */
export function readSections(): Section[] {
  const grouped = Object.values(GROUPS).flat();
  const forgotten = FILES.filter((file) => !grouped.includes(file));
  if (forgotten.length > 0)
    throw new Error(`Add these pages to a group in docs-site/pages.ts: ${forgotten.join(", ")}`);
  return Object.entries(GROUPS).map(([name, files]) => ({ name, pages: files.map(readPage) }));
}

function readPage(file: string): Page {
  const text = readFileSync(`${ROOT}${file}`, "utf8");
  return { file, text, title: /^# (.+)$/m.exec(text)?.[1] ?? file, path: pagePath(file) ?? file };
}
