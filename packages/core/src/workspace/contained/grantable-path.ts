import { homedir } from "node:os";
import { posix } from "node:path";
import { AgentError } from "../../errors.ts";
import { PermissionError } from "../workspace-errors.ts";
import { realDirectory } from "./directory.ts";
import { isWithin } from "./parse-path.ts";

/** Directories that belong to the system, with all that is in them. */
const SYSTEM =
  "/bin /boot /dev /etc /lib /lib32 /lib64 /private/etc /proc /root /run /sbin /sys /usr /var/cache /var/lib /var/log /var/run /var/spool /System /Library /Applications".split(
    " ",
  );
const TOP = [
  "/",
  "/home",
  "/Users",
  "/var",
  "/private",
  "/private/var",
  "/tmp",
  "/private/tmp",
  "/mnt",
  "/opt",
];

/** The real path of a directory that a person can add to a workspace. Throws for one that is never added on request. */
export function grantablePath(path: string, root: string, home: string = homedir()): string {
  if (!path.startsWith("/"))
    throw new AgentError(
      "invalid-argument",
      `path must be an absolute path of a directory, got ${JSON.stringify(path)}.`,
    );
  let real: string;
  try {
    real = realDirectory(path);
  } catch {
    throw new PermissionError(path, "there is no such directory.");
  }
  const refuse = (why: string): PermissionError =>
    new PermissionError(path, `access cannot be requested: ${why}`);
  const homes = [home, realOf(home)];
  if (TOP.includes(real) || SYSTEM.some((one) => isWithin(real, one)))
    throw refuse("it belongs to the system.");
  for (const one of homes) {
    if (isWithin(one, real)) throw refuse("it is or contains the home directory.");
    const below = isWithin(real, one) ? posix.relative(one, real) : "";
    if (below.startsWith(".")) throw refuse("it contains the user's settings and keys.");
  }
  if (isWithin(root, real)) throw refuse("it contains the workspace.");
  return real;
}

/** Whether a directory that was granted may still be used: it can be granted, and no link has taken its place. */
export function isGrantable(path: string, root: string): boolean {
  try {
    return grantablePath(path, root) === path;
  } catch {
    return false;
  }
}

function realOf(path: string): string {
  try {
    return realDirectory(path);
  } catch {
    return path;
  }
}
