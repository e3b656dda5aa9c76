import { spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

// Runs the official conformance suite against MCPServer and MCPClient, one scenario after another, and prints the four
// numbers. Fails when one is below the target. `node run.ts [server|client] [scenario]` runs a part.

type Revision = "2025-11-25" | "2026-07-28";
type Role = "server" | "client";

const TARGETS: Record<Role, Record<Revision, number>> = {
  server: { "2025-11-25": 30, "2026-07-28": 37 },
  client: { "2025-11-25": 18, "2026-07-28": 32 },
};

const require = createRequire(import.meta.url);
const suite = join(
  dirname(require.resolve("@modelcontextprotocol/conformance/package.json")),
  "dist/index.js",
);
const fixture = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const node = (...args: string[]): string[] => [process.execPath, "--conditions=selvedge-source", ...args];

const [onlyRole, onlyScenario] = process.argv.slice(2);
let failed = false;
for (const role of ["server", "client"] as const) {
  if (onlyRole !== undefined && onlyRole !== role) continue;
  for (const revision of ["2025-11-25", "2026-07-28"] as const) {
    const required = (await requiredScenarios(role, revision)).filter(
      (name) => !onlyScenario || name === onlyScenario,
    );
    const broken: string[] = [];
    for await (const [name, problems] of runScenarios(role, revision, required))
      if (problems.length > 0) broken.push(`  ${name}: ${problems.join("; ")}`);
    const passed = required.length - broken.length;
    const target = onlyScenario === undefined ? TARGETS[role][revision] : required.length;
    console.log(`${role} ${revision}: ${passed} of ${required.length} (target ${target})`);
    if (broken.length > 0) console.log(broken.join("\n"));
    failed ||= passed < target;
  }
}
process.exitCode = failed ? 1 : 0;

async function requiredScenarios(role: Role, revision: Revision): Promise<string[]> {
  const text = await readFile(join(dirname(suite), `../requirements/${revision}.yaml`), "utf8");
  const section = new RegExp(`^${role}:\\n((?: .*\\n|#.*\\n|\\n)*)`, "m").exec(text)?.[1] ?? "";
  return [...section.matchAll(/^ {2}- (\S+)$/gm)].map((match) => match[1]!);
}

async function* runScenarios(
  role: Role,
  revision: Revision,
  names: string[],
): AsyncGenerator<[name: string, problems: string[]]> {
  if (role === "client") {
    const command = node(fixture("everything-client.ts")).join(" ");
    for (const name of names)
      yield [name, await runScenario(["client", "--command", command], revision, name)];
    return;
  }
  const server = spawn(process.execPath, node(fixture("everything-server.ts")).slice(1), {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const [url] = await Promise.race([firstLine(server.stdout), died(server)]);
    for (const name of names) yield [name, await runScenario(["server", "--url", url], revision, name)];
  } finally {
    server.kill();
  }
}

/** What a scenario found wrong: failures and warnings. */
async function runScenario(args: string[], revision: Revision, name: string): Promise<string[]> {
  const output = await mkdtemp(join(tmpdir(), "mcp-conformance-"));
  try {
    const all = [suite, ...args, "--scenario", name, "--spec-version", revision, "--output-dir", output];
    const child = spawn(process.execPath, all, { stdio: "ignore" });
    await new Promise((resolve) => child.once("close", resolve));
    const files = (await readdir(output, { recursive: true })).filter((file) => file.endsWith("checks.json"));
    if (files.length === 0) return ["no checks were made"];
    const checks = JSON.parse(await readFile(join(output, files[0]!), "utf8")) as {
      id: string;
      status: string;
      errorMessage?: string;
      description?: string;
    }[];
    if (checks.length === 0) return ["no checks were made"];
    return checks
      .filter(({ status }) => status === "FAILURE" || status === "WARNING")
      .map(
        ({ id, status, errorMessage, description }) => `${id} ${status} ${errorMessage ?? description ?? ""}`,
      );
  } finally {
    await rm(output, { recursive: true, force: true });
  }
}

async function firstLine(stream: NodeJS.ReadableStream): Promise<[string]> {
  for await (const line of createInterface({ input: stream })) return [line];
  throw new Error("The server fixture said nothing.");
}

function died(server: ReturnType<typeof spawn>): Promise<never> {
  return new Promise((_, reject) =>
    server.once("exit", () => reject(new Error("The server fixture ended."))),
  );
}
