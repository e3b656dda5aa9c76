import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { AgentError } from "@selvedge/core/errors";
import type { VectorResult } from "@selvedge/core/vector";
import { localEmbedder } from "@selvedge/embed-local";
import { LibSQLVector } from "@selvedge/libsql";
import { hybridSearch } from "@selvedge/rag";
import { wholeNumber } from "./index-command.ts";
import { createStyle, type Style, wantsColor } from "./style.ts";

export interface AskFlags {
  database: string;
  name: string;
  top: string;
  by: string;
  json?: boolean;
  color: boolean;
}

/** `selvedge ask "…"`. */
export async function runAskCommand(question: string, flags: AskFlags): Promise<number> {
  const topK = wholeNumber("--top", flags.top, 1);
  if (question.trim() === "")
    throw new AgentError(
      "invalid-argument",
      'The question is empty. Write it after the command: selvedge ask "…"',
    );
  const database = resolve(flags.database);
  if (!existsSync(database)) {
    throw new AgentError(
      "not-found",
      `There is no index at ${flags.database}. Create it with: selvedge index <folder>`,
    );
  }
  process.stdout.on("error", () => process.exit(0));
  const style = createStyle(flags.color && wantsColor(process.stdout, process.env));
  const vector = new LibSQLVector({ url: pathToFileURL(database).href });
  try {
    const results = await search(vector, question, flags, topK);
    if (results.length === 0) {
      console.error("No passage in the index matches this question.");
      return 1;
    }
    for (const [position, result] of results.entries()) {
      console.log(flags.json ? JSON.stringify(toJson(result)) : toText(position + 1, result, style));
    }
    return 0;
  } finally {
    await vector.close();
  }
}

async function search(
  vectorStore: LibSQLVector,
  queryText: string,
  flags: AskFlags,
  topK: number,
): Promise<VectorResult[]> {
  const indexName = flags.name;
  const names = await vectorStore.listIndexes();
  if (!names.includes(indexName)) {
    throw new AgentError(
      "not-found",
      `There is no index ${indexName} in ${flags.database}, which has: ${names.join(", ") || "none"}. Create it with: selvedge index <folder> --name ${indexName}`,
    );
  }
  if (flags.by === "words") return vectorStore.queryText({ indexName, queryText, topK });
  if (flags.by !== "meaning" && flags.by !== "both") {
    throw new AgentError("invalid-argument", `--by must be meaning, words or both, got ${flags.by}`);
  }
  const [queryVector] = await localEmbedder().embed([queryText]);
  if (flags.by === "meaning") return vectorStore.query({ indexName, queryVector: queryVector!, topK });
  return hybridSearch({ vectorStore, indexName, queryText, queryVector: queryVector!, topK });
}

function toJson({ score, metadata, document }: VectorResult): Record<string, unknown> {
  return { score, path: metadata?.["path"], line: metadata?.["line"], text: document };
}

/** Documents are untrusted text: terminal control sequences are removed. */
function toText(position: number, { score, metadata, document }: VectorResult, style: Style): string {
  const place = plain(`${String(metadata?.["path"])}:${String(metadata?.["line"])}`);
  const passage = plain(document ?? "")
    .trim()
    .split("\n")
    .map((line) => `   ${line}`)
    .join("\n");
  return `${style.bold(`${position}. ${place}`)} ${style.dim(score.toFixed(3))}\n${passage}\n`;
}

function plain(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n\t]/gu, "");
}
