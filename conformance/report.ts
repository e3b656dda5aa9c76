import type { Judgement, Verdict } from "./judge-documents.ts";

/** The judgement as text: a row per document, then what waits for later work, then what went wrong. */
export function report({ verdicts, stale }: Judgement): string {
  const documents = [...Map.groupBy(verdicts, (verdict) => verdict.block.document)];
  const rows = documents.map(([document, own]) => row(document, own));
  return [
    row("document", undefined),
    ...rows,
    row("all", verdicts),
    ...section("not yet covered", pendingLines(verdicts)),
    ...section("failed", problems({ verdicts, stale })),
  ].join("\n");
}

/** Everything that has to be put right, one text each; empty when the judgement is good. */
export function problems({ verdicts, stale }: Judgement): string[] {
  const failed = verdicts.flatMap((verdict) => {
    if (verdict.outcome !== "failed") return [];
    return [
      `${verdict.block.name} (${verdict.block.document}:${verdict.block.line})\n${indent(verdict.problem)}`,
    ];
  });
  return [...failed, ...stale.map((entry) => `stale entry in the table: ${entry}`)];
}

function row(title: string, verdicts: Verdict[] | undefined): string {
  const cells = verdicts ? counts(verdicts) : ["blocks", "passed", "ran", "pending", "failed"];
  return title.padEnd(24) + cells.map((cell) => String(cell).padStart(9)).join("");
}

function counts(verdicts: Verdict[]): number[] {
  const count = (is: (verdict: Verdict) => boolean) => verdicts.filter(is).length;
  return [
    verdicts.length,
    count((verdict) => verdict.outcome === "passed"),
    count((verdict) => verdict.outcome === "passed" && verdict.ran),
    count((verdict) => verdict.outcome === "pending"),
    count((verdict) => verdict.outcome === "failed"),
  ];
}

function pendingLines(verdicts: Verdict[]): string[] {
  const reasons = verdicts.flatMap((verdict) => (verdict.outcome === "pending" ? [verdict.waitsFor] : []));
  return [...Map.groupBy(reasons, (reason) => reason)]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([reason, all]) => `${String(all.length).padStart(4)}  ${reason}`);
}

function section(title: string, lines: string[]): string[] {
  return lines.length > 0 ? ["", title, ...lines.map(indent)] : [];
}

function indent(text: string): string {
  return text.replace(/^/gm, "  ");
}
