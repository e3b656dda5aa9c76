import { existsSync, globSync, readFileSync } from "node:fs";
import { posix } from "node:path";

/** Checks the links of a built site: every local target, and every heading that a link names, has to exist. */
export function checkLinks(folder: string): { pages: number; problems: string[] } {
  const html = new Map(
    globSync("**/*.html", { cwd: folder }).map((page) => [page, readFileSync(`${folder}/${page}`, "utf8")]),
  );
  const problems = new Set<string>();
  for (const [page, text] of html) {
    for (const [, attribute = ""] of text.matchAll(/\s(?:href|src|srcset)="([^"]+)"/g)) {
      if (/^(?:[a-z]+:|\/\/)/.test(attribute)) continue;
      const [path = "", heading] = attribute.replaceAll("&amp;", "&").split("#");
      const file = path === "" ? page : findFile(folder, page, path);
      if (file === undefined) problems.add(`${page}: ${attribute} does not exist`);
      else if (heading && !html.get(file)?.includes(` id="${decodeURIComponent(heading)}"`))
        problems.add(`${page}: ${attribute} names a heading that does not exist`);
    }
  }
  return { pages: html.size, problems: [...problems] };
}

/** The file that a server sends for a path. */
function findFile(folder: string, page: string, path: string): string | undefined {
  const target = path.startsWith("/") ? path.slice(1) : posix.join(posix.dirname(page), path);
  const candidates =
    target === "" || target.endsWith("/") ? [`${target}index.html`] : [target, `${target}.html`];
  return candidates.find((file) => existsSync(`${folder}/${file}`));
}
