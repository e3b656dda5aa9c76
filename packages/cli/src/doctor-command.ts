import { resolve } from "node:path";
import { printable } from "./chat/printable.ts";
import { countOf } from "./count-of.ts";
import { examineProject } from "./doctor/examine-project.ts";
import type { Finding } from "./doctor/report.ts";
import { createStyle, wantsColor } from "./style.ts";

export interface DoctorFlags {
  json?: boolean;
  color: boolean;
}

/** `selvedge doctor [folder]`: what of a project works, differs or is missing. Returns 1 if something is missing. */
export async function runDoctorCommand(folder: string, flags: DoctorFlags): Promise<number> {
  const { stdout, env } = process;
  const { report, files, truncated } = await examineProject(resolve(folder));
  const found = report.toJSON();
  const exitCode = found.missing.length > 0 ? 1 : 0;
  if (flags.json) {
    stdout.write(`${JSON.stringify({ node: process.versions.node, files, truncated, ...found }, null, 2)}\n`);
    return exitCode;
  }
  const style = createStyle(flags.color && wantsColor(stdout, env));
  const say = (line: string): unknown => stdout.write(`${printable(line)}\n`);
  const list = (title: string, findings: readonly Finding[]): void => {
    if (findings.length === 0) return;
    stdout.write(`\n${style.bold(title)}\n`);
    for (const { file, line, what, remedy } of findings) say(`  ${file}:${line}  ${what}. ${remedy}`);
  };
  say(
    `${countOf(files, "source file")} read${truncated ? ", the rest left out" : ""}, Node ${process.versions.node}. Types are not compared: run tsc.`,
  );
  if (found.works.length > 0) stdout.write(`\n${style.bold("Works as is")}\n`);
  for (const { module, names, files: users } of found.works)
    say(`  ${module}${names.length > 0 ? `: ${names.join(", ")}` : ""} (${countOf(users, "file")})`);
  list("Accepted, with a difference", found.differs);
  list("Missing", found.missing);
  stdout.write(found.missing.length === 0 ? `\n${style.green("Nothing is missing.")}\n` : "");
  return exitCode;
}
