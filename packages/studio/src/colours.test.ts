import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const css = readFileSync(new URL("../app/styles/tokens.css", import.meta.url), "utf8");

/** A colour's two values, light and dark. */
function colours(name: string): [string, string] {
  const value = new RegExp(`--${name}: ([^;]+);`).exec(css)?.[1] ?? "";
  const [light, dark = light] = value.match(/#[\da-f]{6}/g) ?? [];
  if (!light || !dark) throw new Error(`--${name} is no colour: ${value}`);
  return [light, dark];
}

function luminance(colour: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.040_45 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}

function contrast(one: string, other: string): number {
  const [dark, light] = [luminance(one), luminance(other)].toSorted((a, b) => a - b);
  return (light! + 0.05) / (dark! + 0.05);
}

const GROUNDS = ["paper", "surface", "sunken", "hover"];
const PAIRS = [
  ...["ink", "ink-2", "ink-3", "indigo"].flatMap((text) => GROUNDS.map((ground) => [text, ground])),
  // In code blocks.
  ...["green", "amber"].map((text) => [text, "sunken"]),
  ...["indigo", "amber", "green", "stitch"].map((text) => [text, `${text}-soft`]),
  // In the list of a workflow's steps.
  ...["indigo", "amber", "green", "stitch"].flatMap((text) =>
    ["surface", "hover", "indigo-soft"].map((ground) => [text, ground]),
  ),
  ["ink", "indigo-soft"],
  ["ink-2", "indigo-soft"],
  ["stitch", "surface"],
  ["on-fill", "indigo-fill"],
  ["on-fill", "indigo-fill-hover"],
];

describe("The colours", () => {
  it.each(PAIRS)("make %s readable on %s, in light and in dark", (text, ground) => {
    const [texts, grounds] = [colours(text!), colours(ground!)];
    expect(contrast(texts[0], grounds[0])).toBeGreaterThanOrEqual(4.5);
    expect(contrast(texts[1], grounds[1])).toBeGreaterThanOrEqual(4.5);
  });
});
