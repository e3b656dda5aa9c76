import type { CodeLanguage } from "./code-separators.ts";

/** Languages by name, for programs that write `Language.PYTHON`. */
export const Language = {
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
export type Language = (typeof Language)[keyof typeof Language];
