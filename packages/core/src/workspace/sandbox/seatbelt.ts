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

/** A profile for `sandbox-exec` of macOS: everything is denied that is not listed. */
export function seatbeltProfile(reach: Reach, home: string): string {
  const { workingDirectory, readOnly, network, readOnlyPaths, readWritePaths, systemBinaries } = reach;
  const write = [...(readOnly ? [] : [workingDirectory]), ...readWritePaths, home];
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
    `(deny file-write* ${["/.git/hooks", "/.git/config", "/.selvedge"].map((path) => below(workingDirectory + path)).join(" ")})`,
    ...(network ? ["(allow network*)", '(allow mach-lookup (global-name "com.apple.dnssd.service"))'] : []),
  ].join("\n");
}

function below(path: string): string {
  return `(subpath ${JSON.stringify(path)})`;
}
