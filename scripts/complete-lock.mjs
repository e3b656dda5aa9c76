// Adds to package-lock.json the optional packages of other platforms that npm left out. Where npm cannot reach such a
// package while it resolves, it forgets it, and `npm ci` then refuses the lock file on every machine. Each is pinned by
// the package that asks for it, so its entry can be written without asking anybody. Run after changing dependencies.
import { readFileSync, writeFileSync } from "node:fs";

const file = new URL(`../${process.argv[2] ?? "package-lock.json"}`, import.meta.url);
const lock = JSON.parse(readFileSync(file, "utf8"));
const EXACT = /^\d+\.\d+\.\d+(-[\w.]+)?$/;
const OS = /\b(aix|android|darwin|freebsd|linux|netbsd|openbsd|openharmony|sunos|win32)\b/;
const CPU = /\b(arm64|arm|ia32|loong64|mips64el|ppc64|riscv64|s390x|wasm32|x64)\b/;

const added = [];
for (const [path, entry] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    if (isLocked(path, name)) continue;
    const os = OS.exec(name)?.[1];
    const cpu = CPU.exec(name)?.[1];
    if (!EXACT.test(version) || (os === undefined && cpu !== "wasm32") || cpu === undefined) {
      throw new Error(
        `${name}@${version}, optional for ${path}, is not in the lock file and its platform is unclear.`,
      );
    }
    const libc =
      os === "linux" ? (/musl/.test(name) ? ["musl"] : /gnu/.test(name) ? ["glibc"] : undefined) : undefined;
    lock.packages[`node_modules/${name}`] = {
      version,
      cpu: [cpu],
      ...(entry.dev && { dev: true }),
      ...(entry.devOptional && { devOptional: true }),
      ...(libc && { libc }),
      optional: true,
      ...(os && { os: [os] }),
    };
    added.push(name);
  }
}

/** Whether a package that stands at `path` finds `name`, looking upwards as Node does. */
function isLocked(path, name) {
  for (let at = path; ; at = at.slice(0, Math.max(0, at.lastIndexOf("node_modules/") - 1))) {
    if (`${at === "" ? "" : `${at}/`}node_modules/${name}` in lock.packages) return true;
    if (at === "") return false;
  }
}

if (added.length > 0) {
  const paths = Object.keys(lock.packages).sort((a, b) => a.localeCompare(b, "en"));
  lock.packages = Object.fromEntries(paths.map((path) => [path, lock.packages[path]]));
  writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
}
console.log(
  `${process.argv[2] ?? "package-lock.json"}: ${added.length} optional packages of other platforms added`,
);
