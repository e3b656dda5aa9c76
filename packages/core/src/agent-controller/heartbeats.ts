import { AgentError, showValue } from "../errors.ts";
import type { Logger } from "../logger.ts";
import type { System } from "../system.ts";

/** Work that is repeated at intervals while a controller lives. */
export interface HeartbeatHandler {
  id: string;
  /** Milliseconds between the end of one call and the start of the next. */
  intervalMs: number;
  handler: () => void | Promise<void>;
  /** Also call it at once. Default: true. */
  immediate?: boolean;
  /** Called when the handler is removed. */
  shutdown?: () => void | Promise<void>;
}

const MAX_INTERVAL_MS = 2 ** 31 - 1;

/** Calls handlers at intervals. Calls never overlap, and a handler that throws is called again. */
export class Heartbeats {
  readonly #host: { readonly system: System; readonly logger: Logger };
  readonly #running = new Map<string, { handler: HeartbeatHandler; cancel: () => void; stopped: boolean }>();

  constructor(host: { readonly system: System; readonly logger: Logger }) {
    this.#host = host;
  }

  /** Starts calling a handler, replacing one with the same id. */
  async register(handler: HeartbeatHandler): Promise<void> {
    checkHeartbeat(handler);
    await this.remove(handler.id);
    const entry = { handler, cancel: () => {}, stopped: false };
    this.#running.set(handler.id, entry);
    const beat = async (): Promise<void> => {
      try {
        await handler.handler();
      } catch (error) {
        this.#host.logger.warn(`Heartbeat "${handler.id}" failed`, error);
      }
      if (!entry.stopped) wait();
    };
    const wait = (): void => {
      entry.cancel = this.#host.system.setTimer(handler.intervalMs, () => void beat(), { background: true });
    };
    if (handler.immediate === false) wait();
    else void beat();
  }

  /** Stops calling a handler and lets it clean up. Removing an unknown one has no effect. */
  async remove(id: string): Promise<void> {
    const entry = this.#running.get(id);
    if (!entry) return;
    this.#running.delete(id);
    entry.stopped = true;
    entry.cancel();
    try {
      await entry.handler.shutdown?.();
    } catch (error) {
      this.#host.logger.warn(`Heartbeat "${id}" could not shut down`, error);
    }
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#running.keys()].map((id) => this.remove(id)));
  }
}

/** Refuses a handler that could not be called. */
export function checkHeartbeat(handler: HeartbeatHandler): void {
  const { id, intervalMs } = handler ?? {};
  if (typeof id !== "string" || id === "" || typeof handler.handler !== "function")
    throw new AgentError(
      "invalid-argument",
      `A heartbeat must be { id, intervalMs, handler }, got ${showValue(handler)}.`,
    );
  if (!(intervalMs > 0 && intervalMs <= MAX_INTERVAL_MS))
    throw new AgentError(
      "invalid-argument",
      `intervalMs of heartbeat "${id}" must be between 1 and ${MAX_INTERVAL_MS}, got ${showValue(intervalMs)}.`,
    );
}
