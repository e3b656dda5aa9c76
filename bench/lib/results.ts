import { cpus, totalmem } from "node:os";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { ADAPTERS } from "../adapters/index.ts";
import { CASES } from "../cases/index.ts";
import type { Case, CaseResult } from "../cases/types.ts";
import { summary } from "./summary.ts";

/** A run as it is saved: per case and adapter its figures, or why there are none. */
export interface Results {
  at: string;
  node: string;
  machine: { cpu: string; cores: number; memGiB: number };
  versions: Record<string, Record<string, string | undefined>>;
  results: Record<string, Record<string, CaseResult>>;
}

export function newResults(): Results {
  const processors = cpus();
  return {
    at: new Date().toISOString(),
    node: process.version,
    machine: {
      cpu: processors[0]?.model ?? "unknown",
      cores: processors.length,
      memGiB: Math.round(totalmem() / 2 ** 30),
    },
    versions: {},
    results: {},
  };
}

export function readResults(file: string): Results | undefined {
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
}

export function writeResults(file: string, results: Results): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(results, null, 1)}\n`);
}

/** The table of one case, or `undefined` when no adapter got through it. */
export function caseTable(c: Case, results: Results): string | undefined {
  const good = goodOnes(results.results[c.id]);
  if (Object.keys(good).length === 0) return undefined;
  let body: string;
  try {
    body = c.report(good);
  } catch (error) {
    body = `(no table: ${error})`;
  }
  return `### ${c.id}. ${c.title}\n\n${body}\n`;
}

/** Every table, and first the one that has a line per adapter. */
export function report(results: Results): string {
  const { cpu, cores, memGiB } = results.machine;
  const head = `${results.at.slice(0, 10)}, Node ${results.node}, ${cores} × ${cpu}, ${memGiB} GiB\n`;
  const good = Object.fromEntries(CASES.map((c) => [c.id, goodOnes(results.results[c.id])]));
  return [head, `${summary(good)}\n`, ...CASES.flatMap((c) => caseTable(c, results) ?? [])].join("\n");
}

function goodOnes(results: Record<string, CaseResult> = {}): Record<string, CaseResult> {
  const names = ADAPTERS.filter((name) => results[name] && !results[name]["error"]);
  return Object.fromEntries(names.map((name) => [name, results[name]!]));
}
