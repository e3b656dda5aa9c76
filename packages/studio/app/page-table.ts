import type { ReactNode } from "react";
import type { IconName } from "./ui/icon.tsx";

/** What a page receives: `:threadId` in its path is required, `:runId?` is not. */
type Param<Part> = Part extends `:${infer Name}?`
  ? { [Key in Name]?: string }
  : Part extends `:${infer Name}`
    ? { [Key in Name]: string }
    : unknown;
type ParamsOf<Path> = Path extends `${infer Part}/${infer Rest}` ? Param<Part> & ParamsOf<Rest> : Param<Path>;

export interface StudioPage<Path extends string = string> {
  /** `:name` is a parameter, and `:name?` at the end may be absent. */
  readonly path: Path;
  /** The title of the tab, and the name in the sidebar. A page without one sets the title itself. */
  readonly title?: string;
  /** Puts the page into the sidebar. */
  readonly icon?: IconName;
  Page(props: ParamsOf<Path>): ReactNode;
}

export function definePage<const Path extends string>(page: StudioPage<Path>): StudioPage {
  return page;
}

export interface PageMatch {
  page: StudioPage;
  params: Record<string, string>;
  /** The same for all addresses that one instance of the page serves: optional parameters do not count. */
  place: string;
}

/** Returns the first page of a table that an address belongs to. The first page also serves the empty address. */
export function matchPage(pages: readonly StudioPage[], parts: readonly string[]): PageMatch | undefined {
  for (const page of pages) {
    const match = matchOne(page, parts.length === 0 ? toParts(pages[0]!.path) : parts);
    if (match) return match;
  }
  return undefined;
}

/** The address of a page in the sidebar: its path without parameters. */
export function hrefOf({ path }: StudioPage): string {
  return `/${toParts(path)
    .filter((part) => !part.startsWith(":"))
    .join("/")}`;
}

function matchOne(page: StudioPage, parts: readonly string[]): PageMatch | undefined {
  const pattern = toParts(page.path);
  if (parts.length > pattern.length) return undefined;
  const params: Record<string, string> = {};
  let place = "";
  for (const [index, wanted] of pattern.entries()) {
    const part = parts[index];
    const optional = wanted.endsWith("?");
    if (part === undefined && !optional) return undefined;
    if (!wanted.startsWith(":") && part !== wanted) return undefined;
    if (!optional) place += `/${part}`;
    if (wanted.startsWith(":") && part !== undefined) params[wanted.replaceAll(/[:?]/g, "")] = part;
  }
  return { page, params, place };
}

function toParts(path: string): string[] {
  return path.split("/").filter(Boolean);
}
