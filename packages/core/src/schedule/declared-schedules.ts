import type { JSONValue } from "@selvedge/protocol";
import { AgentError, showValue } from "../errors.ts";
import type { System } from "../system.ts";
import { checkJsonObject, checkScheduleId, checkTarget, DECLARED_PREFIX } from "./check-schedule.ts";
import { parseCron } from "./cron.ts";
import type { ScheduleDomain } from "./schedule-domain.ts";
import type { ScheduleRow } from "./schedule-tables.ts";
import type { ScheduledWorkflow } from "./schedule-targets.ts";

/** A schedule in the code of a workflow. */
export interface ScheduleDeclaration {
  id?: string;
  cron: string;
  timezone?: string;
  inputData?: unknown;
  initialState?: Record<string, unknown>;
  requestContext?: Record<string, unknown>;
  metadata?: Record<string, unknown>;
}

type Declared = ScheduleDeclaration | readonly ScheduleDeclaration[] | undefined;
type DeclaredRow = Pick<ScheduleRow, "id" | "subject" | "target" | "cron" | "timezone" | "metadata">;

/** A declared schedule of a workflow that this host does not have is deleted when it is overdue by this much. */
const FORGET_AFTER_MS = 24 * 3_600_000;
const PAGE = 500;

/** Refuses bad schedules of a workflow: called when the workflow is created. */
export function checkDeclaredSchedules(workflowId: string, declared: Declared): void {
  toRows(workflowId, declared);
}

/**
 * Brings the declared schedules in the store in line with the code: adds, changes and removes them. A paused one stays
 * paused, and the next time changes only with the pattern or the time zone.
 */
export async function syncDeclared(
  domain: ScheduleDomain,
  workflows: readonly ScheduledWorkflow[],
  system: System,
): Promise<void> {
  const declared = new Map(
    workflows.flatMap(({ id, config }) => toRows(id, config?.schedule)).map((row) => [row.id, row]),
  );
  const known = new Set(workflows.map(({ id }) => subjectOf(id)));
  const now = Math.trunc(system.now());
  for (const row of await storedRows(domain)) {
    const wanted = declared.get(row.id);
    declared.delete(row.id);
    if (wanted) await bringInLine(domain, row, wanted, now);
    // Another program may share the store. What nobody has fired for long is gone from its code, too.
    else if (known.has(row.subject) || (row.next_fire_at ?? now) < now - FORGET_AFTER_MS)
      await domain.delete(row.id);
  }
  for (const row of declared.values()) await add(domain, row, now);
}

async function storedRows(domain: ScheduleDomain): Promise<ScheduleRow[]> {
  const rows: ScheduleRow[] = [];
  for (;;) {
    const page = await domain.list({ declared: 1 }, PAGE, rows.length);
    rows.push(...page);
    if (page.length < PAGE) return rows;
  }
}

async function add(domain: ScheduleDomain, row: DeclaredRow, now: number): Promise<void> {
  const none = { last_fire_at: null, last_run_id: null, resource_id: null };
  try {
    await domain.create({ ...row, ...none, status: "active", declared: 1, next_fire_at: nextOf(row, now) });
  } catch (error) {
    // Another process was faster.
    if (!AgentError.is(error, "conflict")) throw error;
  }
}

async function bringInLine(
  domain: ScheduleDomain,
  row: ScheduleRow,
  wanted: DeclaredRow,
  now: number,
): Promise<void> {
  const isSame = (["subject", "target", "cron", "timezone", "metadata"] as const).every(
    (name) => canonical(row[name]) === canonical(wanted[name]),
  );
  if (isSame) return;
  const isMoved = row.cron !== wanted.cron || row.timezone !== wanted.timezone;
  const moved = isMoved && row.status === "active" ? { next_fire_at: nextOf(wanted, now) } : {};
  await domain.change(row, { ...wanted, ...moved });
}

function nextOf({ cron, timezone }: DeclaredRow, now: number): number | null {
  return parseCron(cron, timezone ?? undefined)(now) ?? null;
}

function subjectOf(workflowId: string): string {
  return `workflow:${workflowId}`;
}

function toRows(workflowId: string, declared: Declared): DeclaredRow[] {
  if (declared === undefined) return [];
  const list = Array.isArray(declared) ? (declared as readonly ScheduleDeclaration[]) : undefined;
  const rows = (list ?? [declared as ScheduleDeclaration]).map((one, index) =>
    toRow(workflowId, one, list && index),
  );
  const ids = rows.map(({ id }) => id);
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice !== undefined)
    throw new AgentError(
      "invalid-argument",
      `Workflow "${workflowId}" has two schedules with the id ${showValue(twice)}. Give each its own.`,
    );
  return rows;
}

function toRow(workflowId: string, declared: ScheduleDeclaration, index: number | undefined): DeclaredRow {
  const place = index === undefined ? "schedule" : `schedule[${index}]`;
  if (typeof declared !== "object" || declared === null)
    throw new AgentError("invalid-argument", `${place} must be an object, got ${showValue(declared)}.`);
  const { id, cron, timezone, inputData, initialState, requestContext, metadata } = declared;
  if (index !== undefined && id === undefined)
    throw new AgentError(
      "invalid-argument",
      `${place} of workflow "${workflowId}" needs an id: there are several.`,
    );
  parseCron(cron, timezone, `${place}.cron`);
  const name = `${DECLARED_PREFIX}${workflowId}`;
  return {
    id: checkScheduleId(id === undefined ? name : `${name}__${id}`),
    subject: subjectOf(workflowId),
    target: checkTarget({ workflowId, inputData, initialState, requestContext }),
    cron,
    timezone: timezone ?? null,
    metadata: metadata === undefined ? null : checkJsonObject(`${place}.metadata`, metadata),
  };
}

/** JSON with sorted keys: a store may return them in another order. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: JSONValue) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}
