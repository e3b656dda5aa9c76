import { type CreatedAgentSignal, createSignal, type SignalInput } from "../signal/signal.ts";
import {
  type NotificationPatch,
  updateRecord,
  type VersionedNotification,
} from "../storage/notification-rows.ts";
import type { NotificationDomain } from "../storage/notification-domain.ts";
import type { Row } from "../storage/storage.ts";
import { MAILBOX } from "../storage/thread-tables.ts";
import type { AgentExecutionOptions } from "../run/run-options.ts";
import type { Admitted, Delivery, DeliveryOptions } from "../thread/threads.ts";
import type { Inbox } from "./notification-context.ts";

export interface Emission {
  /** The records it announces, as read when it was created. */
  records: readonly VersionedNotification[];
  signal: SignalInput;
  delivery: DeliveryOptions;
  streamOptions?: AgentExecutionOptions | undefined;
  /** The expected destination. If it would end up elsewhere, it is not sent. */
  only?: (delivery: Delivery) => boolean;
  /** The records' new state, unless the signal is discarded. */
  change(
    one: VersionedNotification,
    signal: CreatedAgentSignal,
    delivery: Delivery,
  ): { patch: NotificationPatch; more?: Row };
}

/** A record changed since it was read, or the thread is not in the state the signal was meant for. */
class Stale extends Error {}

/**
 * Sends a signal about records and updates the records in one commit, so a crash never leaves them inconsistent.
 * Returns `undefined`, with no effect, if a record or the thread changed since it was read.
 */
export async function emit(
  inbox: Inbox,
  emission: Emission,
): Promise<{ signal: CreatedAgentSignal; admitted: Admitted } | undefined> {
  const { threads, domain, agentId } = inbox;
  const { system, limits } = threads;
  const signal = createSignal(emission.signal, system, limits.signal);
  const newRunId = system.newId({ idType: "run", source: "agent", entityId: agentId });
  try {
    const { signal: accepted, ...admitted } = await threads.send(inbox, {
      signal,
      agentId,
      hasOwnId: emission.signal.id !== undefined,
      delivery: emission.delivery,
      newRunId,
      streamOptions: emission.streamOptions,
      durableContextKeys: inbox.durableContextKeys,
      alongside: async (delivery) => {
        if (emission.only && !emission.only(delivery)) throw new Stale();
        const now = Math.trunc(system.now());
        const writes = await Promise.all(
          emission.records.map(async (seen) => {
            const current = await domain.read(seen.record);
            if (current?.version !== seen.version) throw new Stale();
            const { patch, more } = emission.change(seen, signal, delivery);
            return updateRecord(seen, patch, now, more);
          }),
        );
        return { writes };
      },
    });
    return { signal: accepted, admitted };
  } catch (error) {
    // A store may report failure although the commit succeeded.
    const admitted = await findAdmitted(domain, emission, signal.id).catch(() => undefined);
    if (admitted) return { signal, admitted };
    if (error instanceof Stale) return undefined;
    throw error;
  } finally {
    domain.changed();
  }
}

/**
 * Looks up a signal whose sending seemed to fail. Returns it if it is stored; its run is known while it waits for one.
 */
async function findAdmitted(
  domain: NotificationDomain,
  { records: [first] }: Emission,
  signalId: string,
): Promise<Admitted | undefined> {
  const record = first && (await domain.getNotification(first.record));
  const isFull = record?.deliveredSignalId === signalId;
  if (!isFull && record?.summarySignalId !== signalId) return undefined;
  const [item] = await domain.storage.select({ table: MAILBOX, where: { id: signalId }, limit: 1 });
  const action = isFull && record.status === "pending" ? "persist" : "deliver";
  return { action, runId: item?.["run_id"] as string | undefined };
}
