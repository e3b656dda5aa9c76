/** Runs every probe on one side, and prints one line of JSON per probe. */
import { readdirSync } from "node:fs";
import type { Probes } from "./probe.ts";

const only = process.argv[2];
const folder = new URL("./probes/", import.meta.url);
const PATIENCE_MS = 30_000;

for (const file of readdirSync(folder)
  .filter((name) => name.endsWith(".ts"))
  .toSorted()) {
  const subject = file.slice(0, -3);
  let probes: Probes;
  try {
    probes = ((await import(new URL(file, folder).href)) as { probes: Probes }).probes;
  } catch (error) {
    say({
      name: subject,
      failed: `does not load: ${error instanceof Error ? error.message.split("\n")[0] : error}`,
    });
    continue;
  }
  for (const [title, probe] of Object.entries(probes)) {
    const name = `${subject}: ${title}`;
    if (only !== undefined && !name.includes(only)) continue;
    const run = typeof probe === "function" ? probe : probe.run;
    const { ours: reason, missing } =
      typeof probe === "function" ? { ours: undefined, missing: undefined } : probe;
    try {
      const late = new Promise((_, reject) =>
        setTimeout(reject, PATIENCE_MS, new Error("no result")).unref(),
      );
      say({ name, reason, missing, value: await Promise.race([run(), late]) });
    } catch (error) {
      say({
        name,
        reason,
        missing,
        failed: error instanceof Error ? `${error.name}: ${error.message.split("\n")[0]}` : String(error),
      });
    }
  }
}
process.exit(0);

function say(line: {
  name: string;
  reason?: string | undefined;
  missing?: true | undefined;
  value?: unknown;
  failed?: string;
}): void {
  const absent = (_: string, value: unknown) => (value === undefined ? "(undefined)" : value);
  const value = JSON.parse(JSON.stringify(line.value ?? "(undefined)", absent));
  process.stdout.write(`compat ${JSON.stringify({ ...line, value })}\n`);
}
