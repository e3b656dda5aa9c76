/**
 *   node run.ts [--smoke] [--install pi,mastra] [--peers floor,ours] [--cases a,b] [--rounds 3]
 *               [--no-pack] [--add] [--out FILE] [--prof DIR]
 * Measures the floor and Selvedge, and the peers named with --install. Each (case, adapter) pair runs in its own fresh
 * process, one at a time. With --rounds N the pairs are visited N times in turn and, per adapter, the round with the
 * lowest primary metric is kept: on a machine with other tenants the quietest round says most about the code.
 */
import { loadavg } from "node:os";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { ADAPTERS, adapter as getAdapter } from "./adapters/index.ts";
import { CASES } from "./cases/index.ts";
import type { Case } from "./cases/types.ts";
import { installPeers } from "./install-peers.ts";
import { peerInstalled, peerVersion } from "./lib/env.ts";
import { quiet } from "./lib/quiet.ts";
import { caseTable, newResults, readResults, report, writeResults } from "./lib/results.ts";
import { runCase } from "./lib/run-case.ts";
import { packOurs } from "./pack-ours.ts";

const { values: args } = parseArgs({
  options: {
    cases: { type: "string" },
    peers: { type: "string" },
    install: { type: "string" },
    rounds: { type: "string", default: "1" },
    smoke: { type: "boolean", default: false },
    "no-pack": { type: "boolean", default: false },
    add: { type: "boolean", default: false },
    out: { type: "string" },
    prof: { type: "string" },
  },
});
const list = (text: string | undefined) => text?.split(",").filter(Boolean);
const installs = list(args.install) ?? [];
const peers = list(args.peers) ?? ["floor", "ours", ...installs];
const caseIds = list(args.cases) ?? (args.smoke ? ["a", "b", "c", "e"] : CASES.map((c) => c.id));
const outFile = args.out
  ? resolve(args.out)
  : fileURLToPath(new URL(`./tmp/${args.smoke ? "smoke" : "latest"}.json`, import.meta.url));

const unknown = [
  ...peers.filter((name) => !ADAPTERS.includes(name)),
  ...caseIds.filter((id) => !CASES.some((c) => c.id === id)),
];
if (unknown.length > 0)
  throw new Error(
    `Unknown: ${unknown.join(", ")}. There are ${ADAPTERS.join(", ")} and cases ${CASES.map(({ id }) => id).join(", ")}.`,
  );

await prepare();
const results = (args.add && readResults(outFile)) || newResults();
let failures = 0;
for (const c of CASES.filter(({ id }) => caseIds.includes(id))) {
  await measure(c);
  const body = caseTable(c, results);
  if (body) console.log(`\n${body}`);
}
if (!args.smoke) console.log(`\n${report(results).split("\n### ")[0]}`);
process.exitCode = failures > 0 ? 1 : 0;

async function prepare(): Promise<void> {
  for (const name of installs) {
    const { peer, sizePeer } = await getAdapter(name);
    installPeers([peer, sizePeer].filter((dir) => dir !== undefined));
  }
  if (peers.includes("ours") && !args["no-pack"]) packOurs();
}

async function measure(c: Case): Promise<void> {
  const kept = (results.results[c.id] ??= {});
  const rounds = c.primary ? Number(args.rounds) : 1;
  for (let round = 0; round < rounds; round++) {
    for (const name of (c.adapters ?? ADAPTERS.filter((n) => n !== "mcp-sdk")).filter((n) =>
      peers.includes(n),
    )) {
      const adapter = await getAdapter(name);
      if (adapter.cases && !adapter.cases.includes(c.id)) continue;
      if (adapter.peer && !peerInstalled(adapter.peer))
        throw new Error(`${name} is not installed. Run again with --install ${name}.`);
      if (!args.smoke) await quiet(8_000);
      results.versions[name] = Object.fromEntries(
        adapter.packages.map((pkg) => [pkg, peerVersion(adapter.peer!, pkg)]),
      );
      const start = performance.now();
      const outcome = await runCase(c, name, { smoke: args.smoke, prof: args.prof && resolve(args.prof) });
      const seconds = ((performance.now() - start) / 1000).toFixed(1);
      const verdict = outcome.ok ? "ok" : `FAILED ${outcome.error}`;
      process.stderr.write(`${c.id} ${name}: ${verdict} (${seconds} s, load ${loadavg()[0]!.toFixed(1)})\n`);
      if (!outcome.ok) {
        failures++;
        kept[name] ??= { error: outcome.error };
      } else {
        const old = round > 0 && !kept[name]?.["error"] ? kept[name] : undefined;
        if (!old || Number(outcome.result[c.primary!]) < Number(old[c.primary!])) kept[name] = outcome.result;
      }
      writeResults(outFile, results);
    }
  }
}
