import { existsSync } from "node:fs";
import { posix } from "node:path";
import { pagePath, ROOT } from "./pages.ts";

/**
 * Returns a page with links and pictures as the site needs them. A link to a folder leads to its README. Other files of
 * the repository are not on the site, so only the text of their links remains. Throws if a target does not exist.
 */
export function withSiteLinks(file: string, text: string): string {
  const folder = posix.dirname(file);
  return text
    .split(/^(```[\s\S]*?^```)$/m)
    .map((part) => (part.startsWith("```") ? part : rewrite(part)))
    .join("");

  function rewrite(part: string): string {
    return part
      .replaceAll(/\[((?:[^[\]]|\[[^\]]*\])+)\]\(([^)\s]+)\)/g, (whole, label: string, link: string) =>
        /^(?:[a-z]+:|#)/.test(link) ? whole : onSite(label, link),
      )
      .replaceAll(
        /\b(src|srcset)="([^":]+)"/g,
        (_, name: string, image: string) => `${name}="/${posix.relative("docs", posix.join(folder, image))}"`,
      );
  }

  function onSite(label: string, link: string): string {
    const [path = "", heading] = link.split("#");
    const target = posix.join(folder, path);
    const page = pagePath(target) ?? pagePath(posix.join(target, "README.md"));
    if (page !== undefined) return `[${label}](/${page}${heading === undefined ? "" : `#${heading}`})`;
    if (existsSync(`${ROOT}${target}`)) return label;
    throw new Error(`${file} links to ${link}, which does not exist.`);
  }
}
