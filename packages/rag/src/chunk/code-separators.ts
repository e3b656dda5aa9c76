import type { Separator } from "./split-text.ts";

/** Line starts before which code may be split, best first. */
const LINE_STARTS = {
  js: "export class |class |export default |export |async function |function |const |let |var |if |for |while |switch ",
  ts: "export class |class |export interface |interface |namespace |export type |type |enum |export |async function |function |const |let |if |for |while |switch ",
  python: "class |@|async def |def |    async def |    def |\tdef |if __name__|if |for |while |with |try:",
  go: "func |type |var |const |if |for |switch |select ",
  rust: "impl|mod |trait |pub fn |pub struct |fn |struct |enum |const |static |let |if |while |for |loop |match ",
  java: "public class |class |interface |enum |    public |    protected |    private |    static |public |protected |private |static |if |for |while |switch ",
  kotlin: "class |object |interface |fun |    fun |val |var |if |for |while |when ",
  c: "struct |typedef |static |void |int |float |double |char |enum |#define |if |for |while |switch ",
  cpp: "namespace |class |struct |template|static |void |int |float |double |enum |#define |if |for |while |switch ",
  csharp:
    "namespace |public class |class |interface |enum |    public |    protected |    private |    internal |if |for |foreach |while |switch ",
  swift: "class |struct |protocol |extension |enum |func |    func |if |for |while |switch ",
  scala: "class |object |trait |def |  def |val |var |if |for |while |match ",
  php: "namespace |class |interface |trait |function |    public function |if |foreach |while |switch ",
  ruby: "module |class |def |  def |if |unless |while |for |begin |rescue ",
  lua: "local function |function |local |if |for |while |repeat ",
  perl: "package |sub |if |for |foreach |while |unless ",
  haskell: "module |import |data |newtype |type |class |instance |where |let |in ",
  elixir: "defmodule |  def |  defp |def |defp |defmacro |if |case |cond |with ",
  sql: "CREATE |ALTER |DROP |INSERT |UPDATE |DELETE |SELECT |WITH |create |alter |drop |insert |update |delete |select |with ",
  sol: "pragma |contract |interface |library |    constructor|    function |    event |    modifier |if |for |while ",
  proto: "message |service |enum |option |import |syntax ",
  powershell: "function |param |if |foreach |for |while |switch |class |try ",
  markdown: "# |## |### |#### |##### |###### |```|~~~|***|---|___",
  latex:
    "\\part{|\\chapter{|\\section{|\\subsection{|\\subsubsection{|\\begin{enumerate}|\\begin{itemize}|\\begin{description}|\\begin{list}|\\begin{quote}|\\begin{quotation}|\\begin{verse}|\\begin{verbatim}|\\begin{align}|\\begin{|$$",
  rst: "===|---|***|.. ",
  html: "<body|<main|<article|<section|<div|<h1|<h2|<h3|<h4|<h5|<h6|<table|<ul|<ol|<p|<li|<tr",
} as const;

export type CodeLanguage =
  | keyof typeof LINE_STARTS
  | "javascript"
  | "typescript"
  | "py"
  | "cs"
  | "rb"
  | "rs"
  | "md";

const ALIASES: Readonly<Record<string, keyof typeof LINE_STARTS>> = {
  javascript: "js",
  typescript: "ts",
  py: "python",
  cs: "csharp",
  rb: "ruby",
  rs: "rust",
  md: "markdown",
};

export function isCodeLanguage(name: unknown): name is CodeLanguage {
  return typeof name === "string" && (Object.hasOwn(LINE_STARTS, name) || Object.hasOwn(ALIASES, name));
}

/** Where to split code of a language, before the general separators. */
export function codeSeparators(language: CodeLanguage): Separator[] {
  const starts = LINE_STARTS[ALIASES[language] ?? (language as keyof typeof LINE_STARTS)];
  return starts.split("|").map((start) => ({ text: `\n${start}`, cut: "line" }));
}
