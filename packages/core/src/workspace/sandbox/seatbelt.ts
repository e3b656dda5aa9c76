import type { Reach } from "./bubblewrap.ts";

const SYSTEM = [
  "/usr",
  "/bin",
  "/sbin",
  "/System",
  "/Library",
  "/opt/homebrew",
  "/private/etc",
  "/private/var/db",
  "/dev",
];

/** In any repository: what decides which programs Git runs. */
const GIT = String.raw`(regex #"/\.git$") (regex #"/\.git/(.*/)?(hooks|config|config\.worktree|commondir)(/|$)") (regex #"/\.git/(modules|worktrees)(/|$)")`;

/** A profile for `sandbox-exec` of macOS: everything is denied that is not listed. */
export function seatbeltProfile(reach: Reach, home: string): string {
  const { workingDirectory, readOnly, network, readOnlyPaths, systemBinaries } = reach;
  const more = [...reach.readWritePaths, ...reach.grantedPaths];
  const write = [...(readOnly ? [] : [workingDirectory]), ...more, home];
  const read = [workingDirectory, ...readOnlyPaths, ...write, ...(systemBinaries ? SYSTEM : [])];
  return [
    "(version 1)",
    "(deny default)",
    "(allow process-fork process-exec)",
    "(allow signal (target same-sandbox))",
    "(allow process-info* (target same-sandbox))",
    "(allow sysctl-read)",
    '(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))',
    "(allow file-read-metadata)",
    `(allow file-read* (literal "/") ${read.map(below).join(" ")})`,
    `(allow file-write* ${write.map(below).join(" ")} (literal "/dev/null") (literal "/dev/zero"))`,
    // The last rule that matches decides.
    `(deny file-write* ${below(`${workingDirectory}/.selvedge`)} ${GIT})`,
    ...(network ? ["(allow network*)", '(allow mach-lookup (global-name "com.apple.dnssd.service"))'] : []),
  ].join("\n");
}

function below(path: string): string {
  return `(subpath ${JSON.stringify(path)})`;
}
