/**
 *   npm run compat [-- words of a probe's name]
 * Runs the same programs on the reference from npm and on Selvedge under the alias, and compares what they return.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";

interface Line {
  name: string;
  reason?: string;
  missing?: true;
  value?: unknown;
  failed?: string;
}

const folder = fileURLToPath(new URL(".", import.meta.url));
const only = process.argv.slice(2).filter((word) => !word.startsWith("--"));

if (!existsSync(new URL("node_modules", import.meta.url))) {
  process.stderr.write("Installing the reference from npm …\n");
  command("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund"]);
}

const reference = resultsOf("reference");
const ours = resultsOf("ours");
const marks = { same: "✓", "on purpose": "≠", missing: "…", unexplained: "✗" };
const counts = { same: 0, "on purpose": 0, missing: 0, unexplained: 0 };
const rows: [name: string, reason: string][] = [];
for (const name of new Set([...reference.keys(), ...ours.keys()])) {
  const theirs = reference.get(name) ?? { name, failed: "did not run" };
  const mine = ours.get(name) ?? { name, failed: "did not run" };
  const verdict = compare(theirs, mine);
  counts[verdict] += 1;
  if (verdict === "on purpose" || verdict === "missing") rows.push([name, theirs.reason!]);
  console.log(`${marks[verdict]} ${name}`);
  if (verdict === "unexplained")
    console.log(
      `    reference ${shown(theirs)}\n    selvedge  ${shown(mine)}${theirs.reason ? `\n    marked as: ${theirs.reason}` : ""}`,
    );
  else if (verdict !== "same") console.log(`    ${theirs.reason}`);
}
const listed = Object.entries(counts).map(([verdict, count]) => `${count} ${verdict}`);
console.log(`\n${reference.size} probes: ${listed.join(", ")}`);
process.exitCode = counts.unexplained > 0 ? 1 : 0;
if (process.argv.includes("--write")) writeTable();

function compare(theirs: Line, mine: Line): keyof typeof counts {
  const equal = isDeepStrictEqual(withoutReason(theirs), withoutReason(mine));
  if (equal) return theirs.reason === undefined ? "same" : "unexplained";
  if (theirs.reason === undefined) return "unexplained";
  return theirs.missing ? "missing" : "on purpose";
}

/** Puts the differences into docs/switching.md. */
function writeTable(): void {
  const page = new URL("../docs/switching.md", import.meta.url);
  const { dependencies } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8")) as {
    dependencies: Record<string, string>;
  };
  const date = new Date().toISOString().slice(0, 10);
  const total = `${date}, @mastra/core ${dependencies["@mastra/core"]}: ${reference.size} programs, ${counts.same} the same, ${counts["on purpose"]} different on purpose, ${counts.missing} missing.`;
  const table = [
    "| Program | Here |",
    "| --- | --- |",
    ...rows.map(([name, reason]) => `| ${name} | ${reason} |`),
  ];
  const block = `<!-- compat -->\n${total}\n\n${table.join("\n")}\n<!-- end -->`;
  writeFileSync(
    page,
    readFileSync(page, "utf8").replace(/<!-- compat -->[^]*?<!-- end -->/, () => block),
  );
}

function resultsOf(side: "reference" | "ours"): Map<string, Line> {
  const flags = [
    "--conditions=selvedge-source",
    "--no-warnings",
    "--import",
    "./resolve.mjs",
    "./side.ts",
    ...only,
  ];
  const child = spawnSync(process.execPath, flags, {
    cwd: folder,
    encoding: "utf8",
    env: { ...process.env, SIDE: side, MASTRA_TELEMETRY_DISABLED: "1" },
    maxBuffer: 64 * 1024 * 1024,
  });
  const lines = child.stdout.split("\n").filter((line) => line.startsWith("compat "));
  if (child.status !== 0)
    throw new Error(`The probes ended with ${child.status ?? child.signal}:\n${child.stderr.slice(-2_000)}`);
  return new Map(
    lines.map((line) => JSON.parse(line.slice("compat ".length)) as Line).map((line) => [line.name, line]),
  );
}

function withoutReason({ value, failed }: Line): unknown {
  return { value, failed: failed === undefined ? undefined : "failed" };
}

function shown(line: Line): string {
  const text = line.failed === undefined ? JSON.stringify(line.value) : `failed: ${line.failed}`;
  return text.length > 400 ? `${text.slice(0, 400)}…` : text;
}

function command(name: string, args: string[]): void {
  const { status } = spawnSync(name, args, { cwd: folder, stdio: "inherit" });
  if (status !== 0) throw new Error(`${name} ${args.join(" ")} ended with ${status}.`);
}
