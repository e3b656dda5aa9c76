import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { AgentError } from "../../errors.ts";
import { bubblewrapArguments, type Reach } from "./bubblewrap.ts";
import { findProgram } from "./machine.ts";
import { seatbeltProfile } from "./seatbelt.ts";
import type { Isolation } from "./workspace-sandbox.ts";

export interface DetectedIsolation {
  backend: Isolation;
  available: boolean;
  message: string;
}

const run = promisify(execFile);
const PROBE_MS = 10_000;
const NAMES: Record<Isolation, string> = { bwrap: "bubblewrap", seatbelt: "seatbelt", none: "none" };

/** The isolation that works on this machine. Runs a real command in it: an installed program may still lack permission. */
export async function detectIsolation(): Promise<DetectedIsolation> {
  if (process.platform === "linux") return probe("bwrap");
  if (process.platform === "darwin") return probe("seatbelt");
  return { backend: "none", available: false, message: `${process.platform} has no isolation.` };
}

/** Returns the isolation for a configuration. Throws if the requested one does not work. */
export async function requireIsolation(wanted: Isolation | "auto"): Promise<DetectedIsolation> {
  if (wanted === "none") return { backend: "none", available: true, message: "Isolation is switched off." };
  const found = await (wanted === "auto" ? detectIsolation() : probe(wanted));
  if (found.available) return found;
  if (wanted === "auto") return { ...found, backend: "none" };
  throw new AgentError(
    "not-supported",
    `isolation: "${wanted}" does not work here: ${found.message} Fix that, or pass "auto" or "none".`,
  );
}

async function probe(backend: "bwrap" | "seatbelt"): Promise<DetectedIsolation> {
  const failed = (message: string): DetectedIsolation => ({ backend, available: false, message });
  try {
    const [program, ...args] = isolated(backend, PROBED, "/usr", "/private/tmp", [
      "/bin/sh",
      "-c",
      "echo works",
    ]);
    const { stdout } = await run(program!, args, { timeout: PROBE_MS, env: {} });
    if (stdout.trim() === "works")
      return { backend, available: true, message: `Commands run in ${NAMES[backend]}.` };
    return failed(
      `${NAMES[backend]} started, but the probe printed ${JSON.stringify(stdout.slice(0, 100))}.`,
    );
  } catch (error) {
    if (AgentError.is(error)) return failed(error.message);
    const { stderr, message } = error as { stderr?: string; message: string };
    return failed(`${NAMES[backend]} failed: ${(stderr?.trim() || message).slice(0, 300)}.`);
  }
}

const PROBED: Reach = {
  workingDirectory: "/usr",
  readOnly: true,
  network: false,
  readOnlyPaths: [],
  readWritePaths: [],
  grantedPaths: [],
  systemBinaries: true,
};

/** The program and arguments that run a command inside an isolation. */
export function isolated(
  backend: Isolation,
  reach: Reach,
  cwd: string,
  home: string,
  command: readonly string[],
  extra: { bwrapArgs?: readonly string[]; seatbeltProfilePath?: string } = {},
): string[] {
  switch (backend) {
    case "none":
      return [...command];
    case "bwrap":
      return [
        required("bwrap", "Install the package bubblewrap."),
        ...bubblewrapArguments(reach, cwd),
        ...(extra.bwrapArgs ?? []),
        "--",
        ...command,
      ];
    case "seatbelt": {
      const profile = extra.seatbeltProfilePath
        ? ["-f", extra.seatbeltProfilePath]
        : ["-p", seatbeltProfile(reach, home)];
      return [required("sandbox-exec", "It is a part of macOS."), ...profile, ...command];
    }
  }
}

function required(program: string, hint: string): string {
  const path = findProgram(program);
  if (!path) throw new AgentError("not-supported", `There is no program ${program} in PATH. ${hint}`);
  return path;
}
