import type { BlockSetUp } from "./block-set-up.ts";
import type { Block } from "./extract-blocks.ts";
import { FREE_NAMES } from "./free-names.ts";
import { wrapBlock } from "./wrap-block.ts";

/** The block starts on this line of its module: all that stands before it is on the first. */
export const FIRST_BLOCK_LINE = 2;

/** The text of a module that declares what the block takes for granted, and is otherwise the block. */
export function blockModule(block: Block, setUp: BlockSetUp | undefined): string {
  const given = setUp?.given ? Object.keys(setUp.given()) : [];
  const { before, code, after } = wrapBlock(repaired(block, setUp), setUp?.wrap);
  const end = [after, setUp?.after].join(" ");
  const declarations = freeNames(block.document, [before, code, end].join("\n"), given);
  return [
    [...givenNames(block.name, given), ...declarations, before].join(" "),
    code,
    end,
    "export {};\n",
  ].join("\n");
}

function repaired(block: Block, setUp: BlockSetUp | undefined): string {
  return (setUp?.repair ?? []).reduce((code, [found, meant]) => code.replace(found, () => meant), block.code);
}

/** The values of `given` under their names, with the types they really have. */
function givenNames(block: string, names: string[]): string[] {
  if (names.length === 0) return [];
  return [
    `import { blockTable } from "../../block-table.ts";`,
    `export const given = blockTable[${JSON.stringify(block)}].given();`,
    `const { ${names.join(", ")} } = given;`,
  ];
}

/** Declarations of the names that the code mentions without declaring them. */
function freeNames(document: string, code: string, given: string[]): string[] {
  const own = withoutText(code);
  const chosen: string[] = [];
  for (const [name, declaration] of Object.entries({ ...FREE_NAMES[document[0]!], ...FREE_NAMES.all })) {
    if (given.includes(name) || declares(own, name)) continue;
    if (mentions(own, name) || chosen.some((other) => mentions(withoutText(other), name)))
      chosen.push(declaration);
  }
  return chosen;
}

function withoutText(code: string): string {
  return code.replace(/\/\*[\s\S]*?\*\/|(?<!:)\/\/.*|'[^'\n]*'|"[^"\n]*"/g, " ");
}

function mentions(code: string, name: string): boolean {
  return new RegExp(`(?<![./\\w])${name}\\b(?!\\s*\\??:)`).test(code);
}

function declares(code: string, name: string): boolean {
  const plain = `\\b(?:const|let|var|function|class|interface|type|import)\\s+${name}\\b`;
  const listed = `\\b(?:const|let|import|import\\s+type)\\s*\\{[^}=]*\\b${name}\\b[^}=]*\\}`;
  return new RegExp(`${plain}|${listed}`).test(code);
}
