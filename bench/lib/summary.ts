import type { CaseResult } from "../cases/types.ts";
import { fmt, table } from "./table.ts";

interface Row {
  title: string;
  caseId: string;
  /** The metric that is shown, and the one whose ratio to the floor is. */
  wall: string;
  cpu?: string;
}

const ROWS: Row[] = [
  { title: "1,000-chunk reply", caseId: "a", wall: "burst.total", cpu: "burst.cpu" },
  { title: "10-step tool loop", caseId: "b", wall: "total", cpu: "cpu" },
  { title: "durable reply, empty thread", caseId: "c", wall: "reply.0.total", cpu: "reply.0.cpu" },
  { title: "durable reply, 5,000 messages", caseId: "c", wall: "reply.5000.total", cpu: "reply.5000.cpu" },
  { title: "durable 10-step loop, empty thread", caseId: "c", wall: "loop.0.total", cpu: "loop.0.cpu" },
  {
    title: "durable 10-step loop, 5,000 messages",
    caseId: "c",
    wall: "loop.5000.total",
    cpu: "loop.5000.cpu",
  },
  { title: "200 concurrent 5-step runs", caseId: "e", wall: "wall", cpu: "cpu" },
  { title: "import of the agent", caseId: "d", wall: "agent.import" },
  { title: "import of agent and store", caseId: "d", wall: "store.import" },
];

/** One line per measurement, one column per adapter: milliseconds of wall time, and in brackets CPU time over the floor's. */
export function summary(results: Record<string, Record<string, CaseResult>>): string {
  const adapters = [...new Set(Object.values(results).flatMap((byAdapter) => Object.keys(byAdapter)))];
  const rows = ROWS.map((row) => [
    row.title,
    ...adapters.map((adapter) => cell(row, adapter, results[row.caseId] ?? {})),
  ]);
  const packages = adapters.map((adapter) => results["d"]?.[adapter]?.["install.packages"]);
  if (packages.some((count) => typeof count === "number"))
    rows.push(["packages installed", ...packages.map((count) => fmt(count))]);
  return table(
    ["ms (× floor)", ...adapters],
    rows.filter((row) => row.slice(1).some((text) => text !== NONE)),
  );
}

const NONE = "n/a";

function cell({ wall, cpu }: Row, adapter: string, results: Record<string, CaseResult>): string {
  const figures = results[adapter];
  const ms = figures?.[wall];
  if (typeof ms !== "number") return NONE;
  const floor = cpu && results["floor"]?.[cpu];
  const own = cpu && figures?.[cpu];
  const ratio = typeof floor === "number" && typeof own === "number" ? ` (${fmt(own / floor)}×)` : "";
  return fmt(ms) + ratio;
}
