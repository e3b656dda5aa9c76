/** What a block is, and so what must stand around it to make it a module. */
export type Wrap =
  /** Declarations and statements: a module as it stands. */
  | "module"
  /** Statements that return. */
  | "function-body"
  /** Signatures without bodies: become the members of an interface `Documented`. */
  | "class-member"
  /** `name: value` pairs: become the object `documented`. */
  | "object-fragment"
  /** `{ name: value }`: becomes the object `documented`. */
  | "object"
  /** `{ name: Type; }`: becomes the type `Documented`. */
  | "type"
  /** Anything else, spelt out. Neither text may hold a line break. */
  | { before: string; after: string };

const STATEMENT_WORDS = /^(?:if|for|while|switch|return|new|await|void|throw|try|do|function|super)$/;

/** The kind of a block, guessed from its first and last code. The table overrules a wrong guess. */
export function detectWrap(code: string): Wrap {
  const text = code.replace(/\/\*[\s\S]*?\*\/|(?<!:)\/\/.*/g, "").trim();
  if (/^return\b/.test(text)) return "function-body";
  if (/^\{\s*["']?\w+["']?\??\s*:\s*[\w[\]<>|' ]+;/.test(text)) return "type";
  if (/^\{\s*["']?\w+["']?\s*:/.test(text)) return "object";
  if (/^\w+\s*:\s/.test(text)) return "object-fragment";
  const call = /^(async\s+)?(\w+)\s*\(/.exec(text);
  if (call && !STATEMENT_WORDS.test(call[2]!)) {
    if (call[1] || call[2] === "constructor" || /\)\s*:\s*[^()]+$/.test(text)) return "class-member";
  }
  return "module";
}

/** The block's code with what must stand before and after it; its lines stay where they are. */
export function wrapBlock(
  code: string,
  wrap: Wrap = detectWrap(code),
): { before: string; code: string; after: string } {
  if (typeof wrap === "object") return { before: wrap.before, code, after: wrap.after };
  switch (wrap) {
    case "module":
      return { before: "", code, after: "" };
    case "function-body":
      return { before: "async function documented() {", code, after: "}" };
    case "object-fragment":
      return { before: "const documented = {", code, after: "};" };
    case "object":
      return { before: "const documented =", code, after: ";" };
    case "type":
      return { before: "type Documented =", code, after: ";" };
    case "class-member":
      return { before: "interface Documented {", code: toMemberSignature(code), after: "}" };
  }
}

/** Members of an interface take no `async`, no pattern in place of a parameter's name, and no `constructor`. */
function toMemberSignature(code: string): string {
  return code
    .replace(/^async\s+/, "")
    .replace(/^constructor\b([\s\S]*)$/, "new$1: object")
    .replace(
      /\(\s*(\{[\s\S]*?\})(\s*:)/,
      (_, pattern: string, colon: string) => `(options${breaksOf(pattern)}${colon}`,
    );
}

function breaksOf(text: string): string {
  return text.replace(/[^\n]/g, "");
}
