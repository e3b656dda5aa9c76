import { styleText } from "node:util";

type Paint = (text: string) => string;

/** How text looks. Every function returns its text unchanged where colour is not wanted. */
export interface Style {
  bold: Paint;
  dim: Paint;
  italic: Paint;
  underline: Paint;
  red: Paint;
  green: Paint;
  yellow: Paint;
  cyan: Paint;
  magenta: Paint;
}

export function createStyle(color: boolean): Style {
  const paint =
    (format: Parameters<typeof styleText>[0]): Paint =>
    (text) =>
      color && text !== "" ? styleText(format, text, { validateStream: false }) : text;
  return {
    bold: paint("bold"),
    dim: paint("dim"),
    italic: paint("italic"),
    underline: paint("underline"),
    red: paint("red"),
    green: paint("green"),
    yellow: paint("yellow"),
    cyan: paint("cyan"),
    magenta: paint("magenta"),
  };
}

/** See no-color.org; `FORCE_COLOR` is for output that a program passes on to a terminal. */
export function wantsColor(output: { isTTY?: boolean }, env: Record<string, string | undefined>): boolean {
  if (env["NO_COLOR"]) return false;
  if (env["FORCE_COLOR"] && env["FORCE_COLOR"] !== "0") return true;
  return output.isTTY === true && env["TERM"] !== "dumb";
}
