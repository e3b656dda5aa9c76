import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { TestTerminal } from "./test-terminal.ts";

/** The pages that show a terminal, and what is typed there. */
const RECORDINGS: readonly { name: string; page: string; drive(terminal: TestTerminal): Promise<void> }[] = [
  {
    name: "note",
    page: "README.md",
    drive: async (terminal) => {
      terminal.type("note that the cat is called Loom\r");
      await terminal.shows("Allow write-note");
    },
  },
  {
    name: "trip",
    page: "docs/controller.md",
    drive: async (terminal) => {
      terminal.type("/mode plan\r");
      await terminal.shows("Mode: plan");
      terminal.type("plan a trip\r");
      await terminal.shows("› 1. Lisbon");
      terminal.type("2\r");
      await terminal.shows("Approve this plan?");
      terminal.type("y\r");
      await terminal.shows("Allow write-note");
      terminal.type("y\r");
      await terminal.shows("in your notes");
      await terminal.isIdle();
    },
  },
];

/** Drives the demo on a real terminal, and answers each page with what the terminal shows. */
export async function recordPages(): Promise<{ file: string; before: string; after: string }[]> {
  const pages = [];
  for (const { name, page, drive } of RECORDINGS) {
    const file = fileURLToPath(new URL(`../../${page}`, import.meta.url));
    const before = await readFile(file, "utf8");
    const begin = `<!-- recorded: ${name} -->\n`;
    const [head, rest] = before.split(begin);
    const tail = rest?.slice(rest.indexOf("<!-- end -->"));
    if (tail === undefined) throw new Error(`${page} has no place for the recording: ${begin}<!-- end -->`);
    const after = `${head}${begin}\n\`\`\`text\n${await record(drive)}\n\`\`\`\n\n${tail}`;
    pages.push({ file, before, after });
  }
  return pages;
}

/** Writes the recordings into their pages. */
export async function writePages(): Promise<void> {
  for (const { file, before, after } of await recordPages())
    if (before !== after) await writeFile(file, after);
}

async function record(drive: (terminal: TestTerminal) => Promise<void>): Promise<string> {
  const cwd = await mkdtemp(join(tmpdir(), "selvedge-recording-"));
  const terminal = await TestTerminal.start(["chat", "--model", "demo"], { cwd, rows: 70 });
  try {
    await terminal.isIdle();
    await drive(terminal);
    const lines = terminal.lines({ all: true });
    // Without the banner, which says how the model was chosen.
    return lines
      .slice(lines.findIndex((line) => line.startsWith("/help lists")) + 1)
      .map((line) => line.trimEnd())
      .join("\n")
      .trim();
  } finally {
    await terminal.stop();
    await rm(cwd, { recursive: true, force: true, maxRetries: 5 });
  }
}
