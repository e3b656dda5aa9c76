import { globSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import type { QualitySet } from "./quality.ts";

/**
 * Judged collections in a folder: `<name>-docs.jsonl` with `{ id, text }` and `<name>-queries.jsonl` with
 * `{ id, text, relevant }` in each line. Every other question is for choosing rules, the rest for testing them.
 */
export function judgedCollections(folder: string): { choosing: QualitySet; testing: QualitySet }[] {
  return globSync("*-docs.jsonl", { cwd: folder })
    .toSorted()
    .map((file) => {
      const name = file.replace("-docs.jsonl", "");
      const docs = readLines<{ id: string; text: string }>(folder, file);
      const queries = readLines<{ text: string; relevant: string[] }>(folder, `${name}-queries.jsonl`);
      const places = new Map(docs.map(({ id }, place) => [id, place]));
      const passages = docs.map(({ text }) => text);
      const questions = queries.map(({ text, relevant }) => ({
        text,
        relevant: relevant.map((id) => places.get(id)!),
      }));
      const half = (kind: string, rest: number): QualitySet => ({
        name: `${name}, questions for ${kind}`,
        passages,
        questions: questions.filter((_, place) => place % 2 === rest),
      });
      return { choosing: half("choosing", 0), testing: half("testing", 1) };
    });
}

function readLines<Line>(folder: string, file: string): Line[] {
  const text = readFileSync(new URL(file, `${pathToFileURL(folder).href}/`), "utf8");
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
}
