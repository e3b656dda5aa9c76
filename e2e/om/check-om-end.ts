import { assemble, MESSAGES, OM_CHUNKS, OM_EVENTS, OM_JOBS, OM_RECORDS } from "@selvedge/core/storage";
import { EVENTS } from "../../packages/core/src/storage/thread-tables.ts";
import { countTokens } from "../../packages/memory/src/observational/count-tokens.ts";
import type { OmStage } from "./simulate-om.ts";

/** What must hold when everything has come to rest. */
export async function checkOmEnd({ world, shared, scope, threads }: OmStage): Promise<void> {
  for (const { thread } of threads) {
    const key = scope === "thread" ? thread : "\tresource r1";
    const [records, chunks, jobs, rows, events, waiting] = await shared.selectAll([
      { table: OM_RECORDS, where: { thread_id: key } },
      { table: OM_CHUNKS, where: { thread_id: key }, orderBy: [{ column: "number" }] },
      { table: OM_JOBS, where: { thread_id: key } },
      { table: MESSAGES, where: { thread_id: thread }, orderBy: [{ column: "seq" }] },
      { table: EVENTS, where: { thread_id: thread }, orderBy: [{ column: "first" }] },
      { table: OM_EVENTS, where: { thread_id: key } },
    ]);
    const fail = (what: string): void => world.violate("end", `${thread}: ${what}`);
    const record = records.find(({ source }) => source === "");
    const part = records.find(({ source }) => source === (scope === "thread" ? "" : thread));
    if (!record || !part) return fail("there is no record");
    const messages = (await assemble(shared, rows)).map((message, index) => ({
      seq: rows[index]!.seq,
      id: message.id,
      tokens: countTokens(message),
      marks: JSON.stringify(message.content.parts).match(/[ma]-\d+;/g) ?? [],
    }));
    let covered = 0;
    for (const chunk of chunks.filter(({ kind, source }) => kind === "observe" && source === thread)) {
      const range = messages.filter(({ seq }) => seq > covered && seq <= chunk.last_seq);
      if (chunk.first_seq !== range[0]?.seq || range.length !== chunk.message_count)
        fail(
          `chunk ${chunk.number} covers ${chunk.message_count} messages from ${chunk.first_seq}, not ${range.length} from ${range[0]?.seq}`,
        );
      const tokens = range.reduce((sum, one) => sum + one.tokens, 0);
      if (tokens !== chunk.message_tokens)
        fail(`chunk ${chunk.number} has ${chunk.message_tokens} message tokens, not ${tokens}`);
      for (const mark of range.flatMap(({ marks }) => marks))
        if (!chunk.text.includes(mark))
          fail(`${mark} is covered by chunk ${chunk.number}, which does not mention it`);
      covered = chunk.last_seq;
      if (chunk.state !== "buffered") {
        if (chunk.last_seq > part.cursor_seq) fail(`chunk ${chunk.number} is active and after the cursor`);
      } else if (chunk.last_seq <= part.cursor_seq)
        fail(`chunk ${chunk.number} is not active and before the cursor`);
    }
    if (covered !== part.covered_seq) fail(`covered up to ${covered}, the record says ${part.covered_seq}`);
    if (part.cursor_seq > covered) fail(`the cursor ${part.cursor_seq} is after what is covered, ${covered}`);
    const pending = messages.filter(({ seq }) => seq > part.cursor_seq);
    const tokens = pending.reduce((sum, one) => sum + one.tokens, 0);
    if (part.pending_count >= 0 && (pending.length !== part.pending_count || tokens !== part.pending_tokens))
      fail(
        `${pending.length} messages with ${tokens} tokens are pending, the record says ${part.pending_count} with ${part.pending_tokens}`,
      );
    // Every mark that notes stand for is in the log.
    const log = chunks.filter(({ state }) => state === "active");
    const size = log.reduce((sum, chunk) => sum + chunk.tokens, 0);
    if (size !== record.log_tokens) fail(`the log has ${size} tokens, the record says ${record.log_tokens}`);
    const text = log.map((chunk) => chunk.text).join("\n");
    for (const { seq, marks } of messages)
      if (seq <= part.cursor_seq)
        for (const mark of marks)
          if (!text.includes(mark)) fail(`${mark} is gone from the prompt and not in the log`);
    const open = jobs.filter(({ state }) => state !== "done" && state !== "failed");
    if (open.length > 0) fail(`${open.length} jobs are left`);
    const planned = messages.findIndex(({ id }) => id === part.planned_id);
    const coveredTo = messages.findLastIndex(({ seq }) => seq <= covered);
    const failed = jobs.some(({ state, kind }) => state === "failed" && kind === "observe");
    if (planned > coveredTo && !failed) fail("messages had a job, and no chunk covers them");
    const due = messages.slice(coveredTo + 1).reduce((sum, one) => sum + one.tokens, 0);
    if (due > 600 && !failed) fail(`${due} tokens have no job`);
    if (waiting.length > 0) fail("chunks wait for a number");
    let next = events[0]?.first ?? 1;
    const told = new Set<string>();
    for (const row of events) {
      if (row.first !== next) fail(`event ${next} is missing`);
      next = row.last + 1;
      for (const { type, data } of row.chunks as { type: string; data?: { cycleId?: string } }[]) {
        if (!type.startsWith("data-om-") || type === "data-om-status") continue;
        const one = `${type} ${data?.cycleId}`;
        if (told.has(one)) fail(`${one} was told twice`);
        told.add(one);
      }
    }
    for (const { cycle_id, source } of chunks)
      if (
        source === thread &&
        ![...told].some((one) => one.endsWith(`-end ${cycle_id}`)) &&
        events[0]?.first === 1
      )
        fail(`the end of ${cycle_id} was not told`);
    if (chunks.some(({ state }) => state === "active")) world.reached.add("notes were activated");
    if (record.generation > 0) world.reached.add("notes were reflected");
  }
}
