import type { AgentName } from "./sim-app.ts";
import type { SentNotification } from "./sim-inbox.ts";
import type { SimProcess } from "./sim-process.ts";
import type { World } from "./world.ts";

export interface SimThread {
  threadId: string;
  resourceId: string;
  /** It began with messages of another. */
  isCopy?: boolean;
}

/** What a sender was told about one attempt to send. */
export interface Attempt {
  process: SimProcess;
  outcome: "pending" | "admitted" | "rejected";
  action?: string;
  runId?: string | undefined;
  duplicate?: boolean;
}

/** How a message was sent: messages of one kind keep their order. */
export type MessageKind = "now" | "next" | "other" | "stream";

/** One message, however often it was sent. */
export interface SentMessage {
  token: string;
  thread: SimThread;
  sender: number;
  agent: AgentName;
  kind: MessageKind;
  key: string | undefined;
  attempts: Attempt[];
  send: (process: SimProcess) => void;
}

export interface DecisionAttempt {
  process: SimProcess;
  approved: boolean;
  outcome: "pending" | "accepted" | "refused" | "failed";
}

/** What the world outside saw: what was sent and acknowledged, what was decided, what tools did. */
export class Ledger {
  readonly messages: SentMessage[] = [];
  readonly notifications: SentNotification[] = [];
  /** Records that somebody wanted to clear away. */
  readonly dismissed: Set<string> = new Set();
  readonly decisions: Map<string, DecisionAttempt[]> = new Map();
  readonly #effects = new Map<string, { toolName: string; first: number; resumed: number }>();
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  effect(toolName: string, toolCallId: string, resumed: boolean): void {
    const entry = this.#effects.get(toolCallId) ?? { toolName, first: 0, resumed: 0 };
    this.#effects.set(toolCallId, entry);
    const times = resumed ? ++entry.resumed : ++entry.first;
    if (times > 1 && toolName !== "idempotent" && toolName !== "inbox") {
      this.#world.violate("I5", `tool ${toolName} ran ${times} times for ${toolCallId}`);
    }
    if (times > 1) this.#world.reached.add("an idempotent tool was run again");
    if (toolName === "approve" || resumed) this.#checkAllowed(toolName, toolCallId);
  }

  /** The calls for which a tool ran. */
  get effects(): Iterable<[toolCallId: string, effect: { toolName: string }]> {
    return this.#effects;
  }

  effectsOf(toolCallId: string): { first: number; resumed: number } {
    return this.#effects.get(toolCallId) ?? { first: 0, resumed: 0 };
  }

  /** A call of the tool that runs before it asks. */
  isAsk(toolCallId: string): boolean {
    return this.#effects.get(toolCallId)?.toolName === "ask";
  }

  decisionsAbout(toolCallId: string): DecisionAttempt[] {
    let attempts = this.decisions.get(toolCallId);
    if (!attempts) this.decisions.set(toolCallId, (attempts = []));
    return attempts;
  }

  #checkAllowed(toolName: string, toolCallId: string): void {
    const attempts = this.decisionsAbout(toolCallId);
    const said = attempts.find(({ outcome }) => outcome === "accepted");
    const maybe = attempts.some(({ approved, outcome }) => approved && outcome !== "refused");
    if (said ? !said.approved : !maybe) {
      this.#world.violate(
        "I6",
        `tool ${toolName} ran for ${toolCallId}, which ${said ? "was declined" : "nobody approved"}`,
      );
    }
  }
}
