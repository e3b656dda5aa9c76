import { parseAst } from "rolldown/parseAst";

/** A text in a source that people may read, with the line it starts on. */
export interface SourceText {
  line: number;
  text: string;
}

interface Node {
  type: string;
  start: number;
  [field: string]: unknown;
}

/** Syntax whose strings are names: imports, types, and the keys of objects. */
const NAMES = new Set([
  "ImportDeclaration",
  "ImportExpression",
  "ExportAllDeclaration",
  "TSLiteralType",
  "TSTypeAliasDeclaration",
  "TSInterfaceDeclaration",
]);

/** Returns the sentences in a source: strings, templates and JSX text that have more than one word. */
export function sourceTexts(source: string, file: string): SourceText[] {
  const found: SourceText[] = [];
  const add = ({ start }: Node, text: string): void => {
    const words = text.replaceAll(/\s+/g, " ").trim();
    if (!words.includes(" ")) return;
    found.push({ line: source.slice(0, start).split("\n").length, text: words });
  };
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(visit);
    if (!isNode(value) || NAMES.has(value.type)) return;
    if (value.type === "JSXElement" || value.type === "JSXFragment") add(value, jsxText(value));
    else if (isText(value)) return add(value, textOf(value));
    for (const [field, child] of Object.entries(value)) if (field !== "parent") visit(child);
  };
  visit(parseAst(source, { lang: file.endsWith("x") ? "tsx" : "ts" }, file));
  return found;
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && typeof (value as Node).type === "string";
}

function isText(node: Node): boolean {
  if (node.type === "BinaryExpression") return node["operator"] === "+" && textOf(node).includes(" ");
  return node.type === "TemplateLiteral" || (node.type === "Literal" && typeof node["value"] === "string");
}

/** The text of an expression. What is only known at run time reads as a piece of code. */
function textOf(node: Node): string {
  if (node.type === "Literal" && typeof node["value"] === "string") return node["value"];
  if (node.type === "BinaryExpression" && node["operator"] === "+") {
    return textOf(node["left"] as Node) + textOf(node["right"] as Node);
  }
  if (node.type !== "TemplateLiteral") return "`…`";
  const quasis = node["quasis"] as { value: { cooked: string } }[];
  return quasis.map(({ value }) => value.cooked).join("`…`");
}

/** What stands directly in an element: its own text, with child elements and values as pieces of code. */
function jsxText(node: Node): string {
  const children = node["children"] as Node[];
  return children
    .map((child) => {
      if (child.type === "JSXText") return String(child["value"]);
      const expression = child["expression"] as Node | undefined;
      return expression && isText(expression) ? textOf(expression) : "`…`";
    })
    .join("");
}
