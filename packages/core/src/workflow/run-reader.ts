import type { WorkflowChunk } from "@selvedge/protocol";
import { type EventPiece, rowsAfter } from "../actor/log/event-piece.ts";
import { LogReader } from "../actor/log/log-reader.ts";
import { AgentError } from "../errors.ts";
import { type RunLog, toPieces } from "./run-log.ts";
import { WORKFLOW_EVENTS, WORKFLOW_RUNS } from "./workflow-tables.ts";

/** How often events are read again because a time travel replaced them meanwhile. */
const REREADS = 20;

/** A position in the log of a run. */
export class RunReader extends LogReader<WorkflowChunk, RunLog> {
  protected override async readStore(log: RunLog, after: number): Promise<EventPiece<WorkflowChunk>[]> {
    const { storage, runId } = log;
    for (let attempt = 0; ; attempt++) {
      const rows = await rowsAfter(
        (first, direction, limit) =>
          storage.select({
            table: WORKFLOW_EVENTS,
            where: { run_id: runId, first },
            orderBy: [{ column: "first", direction }],
            limit,
          }),
        after,
      );
      const pieces = await toPieces(log, rows);
      if (pieces) return pieces;
      if (attempt >= REREADS) throw this.tooSlow(log, rows.at(-1)!.last);
    }
  }

  protected override async checkNumbers({ storage, runId }: RunLog): Promise<void> {
    const [row] = await storage.select({
      table: WORKFLOW_RUNS,
      where: { run_id: runId },
      columns: ["run_id"],
      limit: 1,
    });
    if (row || this.after === 0) return;
    throw new AgentError("not-found", `There is no workflow run "${runId}": it was deleted.`);
  }

  protected override tooSlow({ runId }: RunLog, last: number): AgentError {
    const { after } = this;
    return new AgentError(
      "reader-too-slow",
      `Events ${after + 1} to ${last} of workflow run "${runId}" are no longer kept. Read the run and subscribe again.`,
      { details: { after } },
    );
  }
}
