import { readdir, stat } from "node:fs/promises";
import { extname, join, relative, sep } from "node:path";

const MAX_BYTES = 2_000_000;
const LEFT_OUT = new Set(["node_modules", "dist", "build", "coverage", "target", "vendor", "__pycache__"]);
const EXTENSIONS = new Set(
  (
    ".md .mdx .markdown .txt .rst .adoc .tex .html .htm .json .yaml .yml .toml .csv .sql .css .ts .tsx .mts .js .jsx .mjs " +
    ".cjs .py .rb .php .go .rs .java .kt .swift .scala .c .h .cc .cpp .hpp .cs .sh .lua .ex .exs .vue .svelte"
  ).split(" "),
);

/** The documents below a folder, as paths with forward slashes, in order. Links are not followed. */
export async function findDocuments(folder: string): Promise<string[]> {
  const found: string[] = [];
  const visit = async (path: string): Promise<void> => {
    const entries = await readdir(path, { withFileTypes: true });
    for (const entry of entries) {
      if (entry.name.startsWith(".")) continue;
      const inside = join(path, entry.name);
      if (entry.isDirectory()) {
        if (!LEFT_OUT.has(entry.name)) await visit(inside);
      } else if (entry.isFile() && EXTENSIONS.has(extname(entry.name).toLowerCase())) {
        const { size } = await stat(inside);
        if (size > 0 && size <= MAX_BYTES) found.push(relative(folder, inside).split(sep).join("/"));
      }
    }
  };
  await visit(folder);
  return found.sort((a, b) => (a < b ? -1 : 1));
}
