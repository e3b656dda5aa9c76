import { createHash } from "node:crypto";
import { AgentError } from "@selvedge/core";

interface Instance {
  readonly id: string;
  readonly configHash: string;
  /** Parts that cannot be serialised: two users' providers look alike as text. */
  readonly identities: readonly unknown[];
  disconnect(): Promise<void>;
}

/**
 * Clients that were not disconnected. This is the package's only process-wide state, because the documented guard is
 * process-wide: forgotten clients keep connections and child processes open.
 */
const instances = new Map<string, Instance>();

/** Compares the serialisable parts; headers count in any form. */
export function configHash(servers: unknown): string {
  return createHash("sha256")
    .update(
      JSON.stringify(servers ?? {}, (_key, value: unknown) =>
        value instanceof Headers ? [...value] : value,
      ),
    )
    .digest("hex");
}

/** Returns the existing client with this id and configuration, if any. */
export function findInstance(
  id: string | undefined,
  hash: string,
  identities: readonly unknown[],
): Instance | undefined {
  if (id === undefined) {
    if (!instances.has(hash)) return undefined;
    throw new AgentError(
      "conflict",
      [
        "MCPClient was created several times with the same servers. Each one keeps its own connections open.",
        "Give each client its own id (new MCPClient({ id, servers })), call disconnect() on the first one before",
        "you create the next, or create one client and share it.",
      ].join(" "),
    );
  }
  const existing = instances.get(id);
  if (!existing) return undefined;
  const same = identities.every((identity, index) => identity === existing.identities[index]);
  if (existing.configHash === hash && same) return existing;
  // The same id with other servers replaces the old client.
  instances.delete(id);
  existing.disconnect().catch(() => {});
  return undefined;
}

export function addInstance(instance: Instance): void {
  instances.set(instance.id, instance);
}

export function removeInstance(instance: Instance): void {
  if (instances.get(instance.id) === instance) instances.delete(instance.id);
}
