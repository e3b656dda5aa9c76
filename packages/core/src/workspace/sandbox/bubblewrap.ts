import { protectedPaths } from "./git-protection.ts";
import { kindOf, linkTarget } from "./machine.ts";

/** What a sandbox lets commands see and change. */
export interface Reach {
  workingDirectory: string;
  /** Commands may not write, not even in the working directory. */
  readOnly: boolean;
  network: boolean;
  readOnlyPaths: readonly string[];
  readWritePaths: readonly string[];
  /** Paths that people gave to a session: writable and protected like the working directory. */
  grantedPaths: readonly string[];
  systemBinaries: boolean;
}

/** The home directory inside the sandbox: empty, and gone when the command ends. */
export const SANDBOX_HOME = "/home/sandbox";

const SYSTEM = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/** The loader, the names of default programs, certificates and the time zone. */
const CONFIGURATION = [
  "ld.so.cache",
  "ld.so.conf",
  "ld.so.conf.d",
  "alternatives",
  "ssl",
  "pki",
  "ca-certificates",
  "localtime",
  "timezone",
];
const RESOLVER = ["resolv.conf", "hosts", "nsswitch.conf", "host.conf", "services", "protocols", "gai.conf"];
const TEMPORARY_BYTES = 512 * 1024 * 1024;
const HOME_BYTES = 128 * 1024 * 1024;

/** The arguments of bubblewrap, up to the command. */
export function bubblewrapArguments(reach: Reach, cwd: string): string[] {
  const { workingDirectory, readOnly, network } = reach;
  const read = (path: string) => ["--ro-bind-try", path, path];
  return [
    "--unshare-all",
    "--unshare-user",
    ...(network ? ["--share-net"] : []),
    "--new-session",
    "--die-with-parent",
    "--cap-drop",
    "ALL",
    "--hostname",
    "sandbox",
    ...(reach.systemBinaries ? [...read("/usr"), ...SYSTEM.flatMap(systemDirectory)] : []),
    ...CONFIGURATION.flatMap((name) => read(`/etc/${name}`)),
    ...(network ? RESOLVER.flatMap((name) => read(`/etc/${name}`)) : []),
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    "--size",
    `${TEMPORARY_BYTES}`,
    "--tmpfs",
    "/tmp",
    "--size",
    `${HOME_BYTES}`,
    "--tmpfs",
    "/home",
    "--dir",
    SANDBOX_HOME,
    ...reach.readOnlyPaths.flatMap((path) => ["--ro-bind", path, path]),
    ...reach.readWritePaths.flatMap((path) => ["--bind", path, path]),
    // Last: it may be below one of the above.
    readOnly ? "--ro-bind" : "--bind",
    workingDirectory,
    workingDirectory,
    ...reach.grantedPaths.flatMap((path) => ["--bind", path, path]),
    ...(readOnly ? [] : protectedPaths(workingDirectory)),
    ...reach.grantedPaths.flatMap(protectedPaths),
    "--chdir",
    cwd,
  ];
}

/** Merged systems have links here, others directories. */
function systemDirectory(path: string): string[] {
  const kind = kindOf(path);
  if (kind === undefined) return [];
  return kind === "link" ? ["--symlink", linkTarget(path), path] : ["--ro-bind", path, path];
}
