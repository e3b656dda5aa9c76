import { readdirSync, readFileSync } from "node:fs";
import { onTestFinished } from "vitest";
import { scratch, type Scratch } from "../../__fixtures__/scratch.ts";
import { LocalSandbox, type LocalSandboxOptions } from "../local-sandbox.ts";

/** A sandbox in a scratch folder, destroyed after the test. */
export function sandboxIn(options: LocalSandboxOptions = {}): Scratch & { sandbox: LocalSandbox } {
  const made = scratch();
  const sandbox = new LocalSandbox({ workingDirectory: made.root, logger: false, ...options });
  onTestFinished(() => sandbox.destroy());
  return { ...made, sandbox };
}

/** A time for `sleep` that marks the processes of one test file on this machine. Add digits to it. */
export function nap(): string {
  return `98765.${Math.random().toString().slice(2, 11)}`;
}

/** How many processes of the machine have a word in their command line. */
export function processesWith(word: string): number {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      const { state, text } = {
        state: readFileSync(`/proc/${pid}/stat`, "utf8"),
        text: readFileSync(`/proc/${pid}/cmdline`, "utf8"),
      };
      return !state.slice(state.lastIndexOf(")")).startsWith(") Z") && text.includes(word);
    } catch {
      return false; // It has ended.
    }
  }).length;
}

/** Why bubblewrap cannot be tried here, or `undefined`. */
export async function bubblewrapMissing(): Promise<string | undefined> {
  const { backend, available, message } = await LocalSandbox.detectIsolation();
  return backend === "bwrap" && available ? undefined : message;
}
