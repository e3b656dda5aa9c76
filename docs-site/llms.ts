import type { Section } from "./pages.ts";

/** The first paragraph of a page as one line of text. */
const summary = (text: string): string =>
  (text.split(/\n\s*\n/).find((block) => /^[A-Z`*]/.test(block)) ?? "")
    .replaceAll(/\s+/g, " ")
    .replaceAll(/\[([^\]]+)\]\([^)]+\)/g, "$1")
    .replaceAll("**", "")
    .replace(/:$/, ".");

/** Returns `llms.txt`: every page with its address and its subject. */
export function llmsIndex(sections: readonly Section[]): string {
  const groups = sections.map(({ name, pages }) => {
    const lines = pages.map(({ title, path, text }) => `- [${title}](/${path}.md): ${summary(text)}`);
    return `## ${name}\n\n${lines.join("\n")}\n`;
  });
  return `# Selvedge\n\n> ${summary(sections[0]?.pages[0]?.text ?? "")}\n\n${groups.join("\n")}`;
}

/** Returns `llms-full.txt`: all pages in one file. */
export const llmsFull = (sections: readonly Section[]): string =>
  sections
    .flatMap(({ pages }) => pages.map(({ path, text }) => `<!-- /${path}.md -->\n${text}`))
    .join("\n\n");
