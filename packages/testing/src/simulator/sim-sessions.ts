import type { Session } from "@selvedge/core/agent-controller";
import type { Row } from "@selvedge/core/storage";
import { type Policy, policyOf } from "./permission-oracle.ts";
import { Random } from "./random.ts";
import type { SimApp } from "./sim-app.ts";
import type { SimProcess } from "./sim-process.ts";
import type { World } from "./world.ts";

export type Outcome = "pending" | "accepted" | "refused" | "unsure";

/** Something that somebody did in a session, and what became of it as far as they know. */
export interface Attempt {
  process: SimProcess;
  sessionId: string;
  outcome: Outcome;
}

/** A message, by the name that stands in its text. */
export interface SessionMessage extends Attempt {
  token: string;
  /** What it says; edited ones say something else. */
  texts: { text: string; outcome: Outcome }[];
  removal: Outcome | undefined;
  /** The id under which it waits, where somebody has seen it wait. */
  queuedId?: string;
}

/** An addition to the state of a session. */
export interface StateUpdate extends Attempt {
  key: string;
  /** The creation of the session that has it: a session can be deleted and created again. */
  incarnation: string | undefined;
}

/** A session that is open in a process. */
export interface Handle {
  app: SimApp;
  id: string;
  session: Session;
}

/** What the world outside saw of the sessions in it. */
export class SimSessions {
  readonly ids: readonly string[];
  readonly handles: Handle[] = [];
  readonly messages: SessionMessage[] = [];
  readonly updates: StateUpdate[] = [];
  /** Everything else that somebody waits for: it must end. */
  readonly calls: (Attempt & { what: string })[] = [];
  readonly deletions: Map<string, number> = new Map();
  /** What was granted together with a decision, and whether anybody took grants back since. */
  readonly alwaysAllowed: Set<string> = new Set();
  readonly revoked: Set<string> = new Set();
  /** Rows of sessions in the order of their commits, as the code wrote them. */
  readonly #versions: { sessionId: string; row: Row | undefined }[] = [];
  /** Tokens of each run, and its thread. Runs are forgotten some time after their end. */
  readonly runs: Map<string, { threadId: string; tokens: number }> = new Map();
  /** When the model made a call, and what stood in the rows by then. */
  readonly #emitted = new Map<string, number>();
  /** Calls that were decided, as the code wrote it. */
  readonly #decided = new Map<string, boolean>();
  readonly #world: World;

  constructor(world: World, ids: readonly string[]) {
    this.#world = world;
    this.ids = ids;
  }

  /** Those that can be used: their process lives and nobody closed them. */
  get open(): Handle[] {
    return this.handles.filter(
      ({ app, session }) => app.process.alive && !app.closing && !session.core.isClosed,
    );
  }

  wrote(sessionId: string, row: Row | undefined): void {
    this.#versions.push({ sessionId, row });
  }

  decided(toolCallId: string, approved: boolean): void {
    this.#decided.set(toolCallId, approved);
  }

  emitted(toolCallId: string): void {
    this.#emitted.set(toolCallId, this.#versions.length);
  }

  /** A tool runs: some version of its session since the call was made must allow it, or somebody did. */
  checkRun(toolName: string, toolCallId: string, args: unknown, sessionId: string | undefined): void {
    if (sessionId === undefined) return;
    const since = this.#emitted.get(toolCallId) ?? 0;
    const before = this.#versions.slice(0, since).findLast((version) => version.sessionId === sessionId);
    const after = this.#versions.slice(since).filter((version) => version.sessionId === sessionId);
    const policies = new Set<Policy>(
      [before, ...after].map((version) => (version?.row ? policyOf(version.row, toolName, args) : "ask")),
    );
    if (policies.has("allow")) return;
    const isApproved = this.#decided.get(toolCallId) === true;
    // A call that was read while there was no session is asked for, and may run under the next one.
    const wasWithout = this.deletions.size > 0 && isApproved;
    // A run is continued under the session that approves: the rules of another one asked for the call.
    const wasAskedElsewhere =
      isApproved &&
      this.ids.some((id) => {
        const version = this.#versions.slice(0, since).findLast(({ sessionId: other }) => other === id);
        return id !== sessionId && version?.row && policyOf(version.row, toolName, args) === "ask";
      });
    if (!policies.has("ask") && !wasWithout && !wasAskedElsewhere)
      return this.#world.violate("S1", `${toolName} ran for ${toolCallId}, and the rules deny it`);
    if (!isApproved) this.#world.violate("S1", `${toolName} ran for ${toolCallId}, which nobody allowed`);
  }
}

/** A third of the worlds have sessions. Not drawn from the world's own numbers, so that the others stay what they are. */
export function drawSessions(world: World, seed: number): SimSessions | undefined {
  const random = new Random(seed ^ 0x5e5510);
  return random.chance(1 / 3)
    ? new SimSessions(world, ["s1", "s2"].slice(0, random.between(1, 2)))
    : undefined;
}
