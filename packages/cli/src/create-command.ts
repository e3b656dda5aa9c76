import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createStyle, wantsColor } from "./style.ts";
import { createProject } from "./create/create-project.ts";

export interface CreateFlags {
  color: boolean;
}

/** `selvedge create <name>`: a small project in a new folder, from files of this package. */
export async function runCreateCommand(name: string, flags: CreateFlags): Promise<number> {
  const { stdout, env } = process;
  const style = createStyle(flags.color && wantsColor(stdout, env));
  const { files } = await createProject(process.cwd(), name);
  stdout.write(`${style.bold(name)}\n${files.map((file) => style.dim(`  ${file}\n`)).join("")}\n`);
  stdout.write(`Next:\n  cd ${name}\n  ${installCommand()}\n  npm run dev\n`);
  return 0;
}

/** In a clone, the packages that the project needs may not be published yet: it installs those that the clone packs. */
function installCommand(): string {
  const clone = fileURLToPath(new URL("../../../", import.meta.url));
  const isClone = existsSync(join(clone, "scripts/pack.mjs"));
  return isClone
    ? `npm run pack --prefix ${clone} && npm install ${join(clone, "dist")}/*.tgz`
    : "npm install";
}
