import { styleText } from "node:util";

/** How text looks; every function gives its text back unchanged where colour is not wanted. */
export interface Style {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  prompt(text: string): string;
}

export function createStyle(color: boolean): Style {
  const paint =
    (format: Parameters<typeof styleText>[0]) =>
    (text: string): string =>
      color ? styleText(format, text, { validateStream: false }) : text;
  return { bold: paint("bold"), dim: paint("dim"), red: paint("red"), prompt: paint(["bold", "cyan"]) };
}

/** See no-color.org; `FORCE_COLOR` is for output that a program passes on to a terminal. */
export function wantsColor(output: { isTTY?: boolean }, env: Record<string, string | undefined>): boolean {
  if (env["NO_COLOR"]) return false;
  if (env["FORCE_COLOR"] && env["FORCE_COLOR"] !== "0") return true;
  return output.isTTY === true && env["TERM"] !== "dumb";
}
