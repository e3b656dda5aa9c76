import { AgentError, showValue } from "../errors.ts";
import { defaultLogger, type Logger } from "../logger.ts";
import type { NotificationSignalInput } from "../notification/notification-input.ts";
import type { Processor } from "../processor/processor.ts";
import { checkId } from "../storage/check-id.ts";
import { realSystem, type System } from "../system.ts";
import type { ToolsInput } from "../tool/tool.ts";
import type { Agent } from "./agent.ts";
import type { NotificationOptions } from "./agent-notifications.ts";

/** The thread that a provider notifies. */
export type SignalProviderTarget = {
  threadId: string;
  resourceId: string;
  agentId?: string;
  /** What happens if the thread is idle, as in `sendNotificationSignal`. */
  ifIdle?: NotificationOptions["ifIdle"];
};

/** A thread that wants to hear about an external resource. */
export interface SignalSubscription {
  id: string;
  providerId: string;
  threadId: string;
  resourceId: string;
  /** The provider's name of the external resource, such as `github:owner/repo#12`. */
  externalResourceId: string;
  subscribedAt: Date;
  metadata: Record<string, unknown>;
}

/** A request that a route of the app has verified. */
export interface SignalProviderWebhookRequest {
  body: unknown;
  headers: Record<string, string>;
  params?: Record<string, string>;
}

/** What a provider gets from its agent. */
interface ProviderRuntime {
  system: System;
  logger: Logger;
}

const MAX_SUBSCRIPTIONS = 10_000;
const MIN_POLL_MS = 10;

/**
 * Watches something outside and notifies threads of an agent: `new Agent({ signals: [new MyProvider()] })`. A subclass
 * polls or handles webhooks, and may bring processors and tools. Subscriptions are kept in this process.
 */
export abstract class SignalProvider<Id extends string = string> {
  abstract readonly id: Id;
  readonly name?: string;
  /** Milliseconds between two polls; the next starts after the last has ended. Without it, nothing is polled. */
  readonly pollInterval?: number;
  /** The host of the agent, once it is registered with one. */
  protected mastra?: any;
  readonly #subscriptions = new Map<string, SignalSubscription>();
  #agent: Agent<any, any> | undefined;
  #runtime: ProviderRuntime = { system: realSystem, logger: defaultLogger };
  #stopPolling: (() => void) | undefined;

  /** Checks the external sources. */
  poll?(subscriptions: SignalSubscription[]): Promise<void>;
  /** Handles a request. Call it from a route that has verified the sender. */
  handleWebhook?(request: SignalProviderWebhookRequest): Promise<{ status?: number; body?: unknown }>;
  /** Called once, after `connect`. */
  start?(): Promise<void> | void;
  getInputProcessors?(): Processor[];
  getOutputProcessors?(): Processor[];
  getTools?(): ToolsInput;

  /** Called by the agent. A subclass that overrides it calls `super.connect(agent)`. */
  connect(agent: Agent<any, any>, runtime?: ProviderRuntime): void {
    this.#agent = agent;
    if (runtime) this.#runtime = runtime;
  }

  /** Called by the agent when it is registered with a host. */
  useHost(mastra: unknown): void {
    this.mastra = mastra;
  }

  get isConnected(): boolean {
    return this.#agent !== undefined;
  }

  protected get agent(): Agent<any, any> | undefined {
    return this.#agent;
  }

  /** Subscribes a thread. Doing it again replaces the metadata. */
  protected subscribe(
    target: SignalProviderTarget,
    externalResourceId: string,
    metadata: Record<string, unknown> = {},
  ): SignalSubscription {
    checkTarget(target);
    checkId("externalResourceId", externalResourceId);
    const key = keyOf(target, externalResourceId);
    const before = this.#subscriptions.get(key);
    if (!before && this.#subscriptions.size >= MAX_SUBSCRIPTIONS)
      throw new AgentError(
        "limit-exceeded",
        `Provider "${this.id}" has ${MAX_SUBSCRIPTIONS} subscriptions, which is the limit. Unsubscribe threads that no longer need it.`,
      );
    const subscription: SignalSubscription = {
      id: before?.id ?? this.#runtime.system.newId(),
      providerId: this.id,
      threadId: target.threadId,
      resourceId: target.resourceId,
      externalResourceId,
      subscribedAt: before?.subscribedAt ?? new Date(this.#runtime.system.now()),
      metadata,
    };
    this.#subscriptions.set(key, subscription);
    return subscription;
  }

  /** Returns whether there was a subscription. */
  protected unsubscribe(target: SignalProviderTarget, externalResourceId: string): boolean {
    return this.#subscriptions.delete(keyOf(target, externalResourceId));
  }

  /** Returns how many subscriptions were removed. */
  protected unsubscribeAll(target: SignalProviderTarget): number {
    const own = this.getSubscriptionsForThread(target);
    for (const { externalResourceId } of own) this.unsubscribe(target, externalResourceId);
    return own.length;
  }

  protected getSubscriptions(): SignalSubscription[] {
    return [...this.#subscriptions.values()];
  }

  protected getSubscriptionsForResource(externalResourceId: string): SignalSubscription[] {
    return this.getSubscriptions().filter((one) => one.externalResourceId === externalResourceId);
  }

  protected getSubscriptionsForThread({ threadId, resourceId }: SignalProviderTarget): SignalSubscription[] {
    return this.getSubscriptions().filter(
      (one) => one.threadId === threadId && one.resourceId === resourceId,
    );
  }

  protected hasSubscription(target: SignalProviderTarget, externalResourceId: string): boolean {
    return this.#subscriptions.has(keyOf(target, externalResourceId));
  }

  protected get subscriptionCount(): number {
    return this.#subscriptions.size;
  }

  /** Called by the agent. Does nothing without `poll` and `pollInterval`, or if polling already runs. */
  startPolling(): void {
    const { system, logger } = this.#runtime;
    const interval = this.pollInterval;
    if (!this.poll || !interval || this.#stopPolling) return;
    if (!Number.isFinite(interval) || interval < MIN_POLL_MS)
      throw new AgentError(
        "invalid-argument",
        `pollInterval of provider "${this.id}" must be at least ${MIN_POLL_MS} ms, got ${showValue(interval)}.`,
      );
    let stopped = false;
    let cancel: () => void;
    const wait = (): void => {
      cancel = system.setTimer(interval, () => void run(), { background: true });
    };
    const run = async (): Promise<void> => {
      try {
        await this.poll!(this.getSubscriptions());
      } catch (error) {
        logger.warn(
          `Polling of signal provider "${this.id}" failed. It is retried in ${interval} ms.`,
          error,
        );
      }
      if (!stopped) wait();
    };
    wait();
    this.#stopPolling = () => {
      stopped = true;
      cancel();
    };
  }

  stopPolling(): void {
    this.#stopPolling?.();
    this.#stopPolling = undefined;
  }

  /** Called when the agent closes. */
  stop(): void {
    this.stopPolling();
    this.#subscriptions.clear();
  }

  /** Sends a notification to a thread of the agent. */
  protected async notify(
    notification: NotificationSignalInput,
    { threadId, resourceId, ifIdle }: SignalProviderTarget,
  ): Promise<void> {
    if (!this.#agent)
      throw new AgentError(
        "invalid-argument",
        `Signal provider "${this.id}" has no agent. Pass it to one: new Agent({ signals: [provider] }).`,
      );
    await this.#agent.sendNotificationSignal(notification, {
      threadId,
      resourceId,
      ...(ifIdle && { ifIdle }),
    });
  }
}

/** Whether this is a provider, also one of another copy of the package. */
export function isSignalProvider(value: unknown): value is SignalProvider {
  const { id, connect, stop } = Object(value) as Partial<SignalProvider>;
  return typeof id === "string" && typeof connect === "function" && typeof stop === "function";
}

function keyOf({ threadId, resourceId }: SignalProviderTarget, externalResourceId: string): string {
  return JSON.stringify([resourceId, threadId, externalResourceId]);
}

function checkTarget(target: SignalProviderTarget): void {
  checkId("threadId", target?.threadId);
  checkId("resourceId", target?.resourceId);
}
