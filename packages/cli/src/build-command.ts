import { relative } from "node:path";
import { AgentError } from "@selvedge/core/errors";
import { buildProject } from "./build/build-project.ts";
import { countOf } from "./count-of.ts";
import { findEntry } from "./dev/find-entry.ts";
import { createStyle, wantsColor } from "./style.ts";

export interface BuildFlags {
  output: string;
  color: boolean;
}

/** `selvedge build [entry]`: a folder that serves the project with plain Node. */
export async function runBuildCommand(named: string | undefined, flags: BuildFlags): Promise<number> {
  const { stdout, env } = process;
  const style = createStyle(flags.color && wantsColor(stdout, env));
  const folder = process.cwd();
  const entry = findEntry(folder, named);
  if (entry === undefined)
    throw new AgentError(
      "not-found",
      `${folder} has no src/mastra/index.ts. Name the module that exports \`mastra\`.`,
    );
  const { output, files, dependencies } = await buildProject(folder, entry, flags.output);
  const shown = relative(folder, output) || ".";
  stdout.write(
    `${style.bold(shown)}: ${countOf(files, "file")}, ${countOf(Object.keys(dependencies).length, "package")}\n\n` +
      `Next:\n  cd ${shown}\n  npm install\n  node start.mjs\n`,
  );
  return 0;
}
