import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";

/** Runs the npm on PATH with this Node in front, so that native modules match the Node that measures. Throws when it fails. */
export function npm(args: string[], cwd: string): string {
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    PATH: dirname(process.execPath) + delimiter + process.env["PATH"],
  };
  // Headers that ship next to this Node, so that native builds need no download.
  const home = dirname(dirname(process.execPath));
  if (existsSync(join(home, "include", "node"))) env["npm_config_nodedir"] = home;
  const result = spawnSync("npm", [...args, "--no-audit", "--no-fund"], {
    cwd,
    env,
    encoding: "utf8",
    maxBuffer: 1 << 26,
    timeout: 15 * 60_000,
  });
  if (result.status === 0) return result.stdout;
  throw new Error(
    `npm ${args[0]} failed in ${cwd}:\n${(result.stderr || String(result.error)).slice(-2000)}`,
  );
}
