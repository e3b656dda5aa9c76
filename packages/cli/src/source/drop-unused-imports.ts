import { IMPORT_STATEMENT } from "./find-imports.ts";
import { maskSource, withoutWords } from "./mask-source.ts";

const BINDING = /(?:(?:([\w$]+)\s+as\s+)?([\w$]+)|\*\s*as\s+([\w$]+))(\s*,)?/g;

/**
 * Removes imports that nothing uses, as TypeScript does. In a source without types, those were the imports of types.
 * Everything else keeps its place.
 */
export function dropUnusedImports(code: string): string {
  const text = withoutWords(code);
  let result = code;
  for (const match of maskSource(code).matchAll(IMPORT_STATEMENT)) {
    const [statement, , clause = ""] = match;
    if (!statement.startsWith("import")) continue;
    const from = match.index;
    const rest = text.slice(0, from) + text.slice(from + statement.length);
    const clauseAt = from + statement.indexOf(clause, "import".length);
    const bindings = [...clause.matchAll(BINDING)];
    const unused = bindings.filter(([, , name, space]) => !isUsed(rest, name ?? space!));
    if (unused.length === 0) continue;
    const gone =
      unused.length === bindings.length
        ? [{ start: from, length: statement.length }]
        : unused.map((one) => ({ start: clauseAt + one.index, length: one[0].length }));
    for (const { start, length } of gone)
      result =
        result.slice(0, start) +
        result.slice(start, start + length).replace(/[^\n]/g, " ") +
        result.slice(start + length);
  }
  return result;
}

function isUsed(text: string, name: string): boolean {
  return new RegExp(String.raw`(?<![\w$])${name.replaceAll("$", String.raw`\$`)}(?![\w$])`).test(text);
}
