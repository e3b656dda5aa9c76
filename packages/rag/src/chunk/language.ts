import type { CodeLanguage } from "./code-separators.ts";

const LANGUAGES = {
  CPP: "cpp",
  GO: "go",
  JAVA: "java",
  KOTLIN: "kotlin",
  JS: "js",
  TS: "ts",
  PHP: "php",
  PROTO: "proto",
  PYTHON: "python",
  RST: "rst",
  RUBY: "ruby",
  RUST: "rust",
  SCALA: "scala",
  SWIFT: "swift",
  MARKDOWN: "markdown",
  LATEX: "latex",
  HTML: "html",
  SOL: "sol",
  CSHARP: "csharp",
  C: "c",
  LUA: "lua",
  PERL: "perl",
  HASKELL: "haskell",
  ELIXIR: "elixir",
  POWERSHELL: "powershell",
} as const satisfies Record<string, CodeLanguage>;

/** Languages by name, for programs that write `Language.PYTHON`. */
export const Language: typeof LANGUAGES = LANGUAGES;
export type Language = (typeof LANGUAGES)[keyof typeof LANGUAGES];
