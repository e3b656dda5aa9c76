import type { NotificationSignalInput } from "../notification/notification-input.ts";
import {
  SignalProvider,
  type SignalProviderTarget,
  type SignalProviderWebhookRequest,
  type SignalSubscription,
} from "./signal-provider.ts";

export interface WebhookSignalProviderOptions {
  /** Default: `webhook-signals`. */
  id?: string;
  name?: string;
  /** The external resources that a body is about. Default: its field `resource` or `externalResourceId`. */
  extractResourceId?: (payload: unknown) => string | string[] | undefined;
  /** Default: a notification `webhook`/`event` with the body as text. */
  buildNotification?: (payload: unknown, subscription: SignalSubscription) => NotificationSignalInput;
}

interface SubscriptionSignal {
  type: "reactive";
  tagName: string;
  contents: string;
  attributes: { resource: string };
}

const MAX_SUMMARY = 2000;

/** Notifies the threads that subscribed to what a webhook is about. */
export class WebhookSignalProvider extends SignalProvider {
  readonly id: string;
  override readonly name: string;
  readonly #options: WebhookSignalProviderOptions;

  /** Signals that ask for a subscription, for apps that let a model do it. */
  static readonly signals: Record<"subscribe" | "unsubscribe", (resource: string) => SubscriptionSignal> = {
    subscribe: (resource) => signalFor("subscribe", resource),
    unsubscribe: (resource) => signalFor("unsubscribe", resource),
  };

  constructor(options: WebhookSignalProviderOptions = {}) {
    super();
    this.id = options.id ?? "webhook-signals";
    this.name = options.name ?? "Webhook Signals";
    this.#options = options;
  }

  subscribeThread(
    target: SignalProviderTarget,
    externalResourceId: string,
    metadata?: Record<string, unknown>,
  ): SignalSubscription {
    return this.subscribe(target, externalResourceId, metadata);
  }

  unsubscribeThread(target: SignalProviderTarget, externalResourceId: string): boolean {
    return this.unsubscribe(target, externalResourceId);
  }

  /** Returns 400 if the body names no resource. A thread that cannot be notified does not keep the others waiting. */
  override async handleWebhook({
    body,
  }: SignalProviderWebhookRequest): Promise<{ status?: number; body?: unknown }> {
    const { extractResourceId = resourceIn, buildNotification = notificationOf } = this.#options;
    const resources = [extractResourceId(body) ?? []].flat();
    if (resources.length === 0)
      return { status: 400, body: { error: "The body names no resource that threads can subscribe to." } };
    const subscriptions = resources.flatMap((resource) => this.getSubscriptionsForResource(resource));
    const sent = await Promise.allSettled(
      subscriptions.map(async (one) => this.notify(buildNotification(body, one), one)),
    );
    const failed = sent.find((one) => one.status === "rejected");
    if (failed) throw failed.reason;
    return { status: 200, body: { notified: subscriptions.length } };
  }
}

function signalFor(action: "subscribe" | "unsubscribe", resource: string): SubscriptionSignal {
  return {
    type: "reactive",
    tagName: `webhook-${action}`,
    contents: `${action} ${resource}`,
    attributes: { resource },
  };
}

function resourceIn(payload: unknown): string | undefined {
  const { resource, externalResourceId } = Object(payload) as Record<string, unknown>;
  const found = resource ?? externalResourceId;
  return typeof found === "string" ? found : undefined;
}

function notificationOf(
  payload: unknown,
  { externalResourceId }: SignalSubscription,
): NotificationSignalInput {
  const text = JSON.stringify(payload) ?? "";
  return {
    source: "webhook",
    kind: "event",
    summary: `Event for ${externalResourceId}: ${text.slice(0, MAX_SUMMARY)}`,
    payload,
  };
}
