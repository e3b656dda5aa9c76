import { htmlText } from "../chunk/html-text.ts";

/** The visible text of a page. Start indexes of HTML chunks refer to this text. */
export function htmlToText(html: string): string {
  return htmlText(html).text;
}
