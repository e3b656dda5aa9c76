import type { Page } from "playwright-core";
import { fault } from "./tool-fault.ts";

const MAX_ELEMENTS = 50_000;
const MAX_CHARACTERS = 5_000_000;

const MEASURE = `[document.getElementsByTagName("*").length, document.documentElement?.textContent?.length ?? 0]`;

/** The accessibility tree of a page, with refs. */
export async function snapshotPage(
  page: Page,
  {
    interactiveOnly,
    depth,
    timeout,
  }: { interactiveOnly: boolean; depth: number | undefined; timeout: number },
): Promise<string> {
  await refuseHuge(page);
  const tree = await page.ariaSnapshot({ mode: "ai", timeout, ...(depth !== undefined && { depth }) });
  return interactiveOnly ? onlyInteractive(tree) : tree;
}

/** A tree is built and sent as a whole, so a page of 100 MB must not get that far. */
async function refuseHuge(page: Page): Promise<void> {
  const sizes = await Promise.all(
    page.frames().map((frame) => frame.evaluate<[number, number]>(MEASURE).catch(() => [0, 0])),
  );
  const [elements, characters] = [0, 1].map((at) => sizes.reduce((sum, size) => sum + (size[at] ?? 0), 0));
  if (elements! <= MAX_ELEMENTS && characters! <= MAX_CHARACTERS) return;
  throw fault(
    "page-too-large",
    `The page has ${elements!.toLocaleString("en")} elements and ${characters!.toLocaleString("en")} characters, too many for a snapshot.`,
    "Read a part of it with browser_evaluate, or open a smaller page.",
  );
}

const INTERACTIVE =
  /^(?:button|checkbox|combobox|heading|iframe|link|listbox|menuitem(?:checkbox|radio)?|option|radio|searchbox|slider|spinbutton|switch|tab|textbox|treeitem)\b/;

/** The lines of elements that can be used, and headings for orientation, indented by their own nesting. */
function onlyInteractive(tree: string): string {
  const kept: string[] = [];
  /** The original indentations of the kept elements around a line. */
  const around: number[] = [];
  for (const line of tree.split("\n")) {
    const at = line.search(/\S/);
    if (at < 0) continue;
    while (around.length > 0 && around.at(-1)! >= at) around.pop();
    const node = line.slice(at).replace(/^- /, "");
    const isAddress = node.startsWith("/url:") && around.at(-1) === at - 2;
    const isUsable = INTERACTIVE.test(node) || node.includes("[cursor=pointer]");
    if (!isAddress && !isUsable) continue;
    kept.push(`${"  ".repeat(around.length)}- ${node.length > 500 ? `${node.slice(0, 500)}…` : node}`);
    if (isUsable) around.push(at);
  }
  return kept.length > 0
    ? kept.join("\n")
    : "(no interactive elements; pass interactiveOnly: false for the text)";
}
