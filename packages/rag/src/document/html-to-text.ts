import { htmlText } from "../chunk/html-text.ts";

/** What a reader sees of a page. The start indexes of chunks of an HTML document count in this text. */
export function htmlToText(html: string): string {
  return htmlText(html).text;
}
