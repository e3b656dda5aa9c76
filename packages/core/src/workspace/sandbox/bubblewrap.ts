import { join } from "node:path";
import { AgentError } from "../../errors.ts";
import { kindOf, linkTarget } from "./machine.ts";

/** What a sandbox lets commands see and change. */
export interface Reach {
  workingDirectory: string;
  /** Commands may not write, not even in the working directory. */
  readOnly: boolean;
  network: boolean;
  readOnlyPaths: readonly string[];
  readWritePaths: readonly string[];
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
    ...(readOnly ? [] : protectedPaths(workingDirectory)),
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

/** Directories that bubblewrap creates to put a mask on. Remove them when no command runs, if they are empty. */
export function maskPoints(workingDirectory: string): string[] {
  const git = join(workingDirectory, ".git");
  const own = join(workingDirectory, ".selvedge");
  return [
    // An empty one is what a process that died left behind.
    ...(["empty directory", undefined].includes(kindOf(git)) ? [git] : []),
    ...(kindOf(own) === undefined ? [own] : []),
  ];
}

/**
 * Git runs programs that its hooks and its configuration name, outside the sandbox, when a person uses it later. So a
 * command cannot change them, nor move the directory they are in: a mount cannot be renamed.
 */
function protectedPaths(workingDirectory: string): string[] {
  const git = join(workingDirectory, ".git");
  const own = join(workingDirectory, ".selvedge");
  return [...protectGit(git), ...protect(own)];
}

function protectGit(git: string): string[] {
  if (kindOf(git) !== "directory") return protect(git);
  return [
    "--bind",
    git,
    git,
    ...protect(join(git, "hooks")),
    ...(kindOf(join(git, "config")) === undefined
      ? ["--ro-bind", "/dev/null", join(git, "config")]
      : protect(join(git, "config"))),
  ];
}

function protect(path: string): string[] {
  switch (kindOf(path)) {
    case "link":
      throw new AgentError(
        "not-supported",
        `${path} is a symbolic link, which the sandbox cannot protect. Replace the link by what it points to, or use isolation: "none".`,
      );
    case "directory":
    case "file":
      return ["--ro-bind", path, path];
    default:
      return ["--size", "4096", "--tmpfs", path, "--remount-ro", path];
  }
}
