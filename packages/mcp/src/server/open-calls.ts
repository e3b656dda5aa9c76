import { createHash } from "node:crypto";
import { AgentError, type System } from "@selvedge/core";
import { FairTable } from "@selvedge/core/guards";
import {
  createRequestStateCodec,
  inputRequired,
  type InputRequiredResult,
  type RequestStateCodec,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { ANSWER_TIMEOUT_MS } from "./ask.ts";
import { invalidParams } from "./invalid-params.ts";
import { OpenCall } from "./open-call.ts";
import { principalOf } from "./principal.ts";

/** Sent through the client, signed. */
interface CallState {
  /** Valid for one round; the next round gets a new one. */
  ticket: string;
  /** A digest of the call and its arguments. */
  subject: string;
  answers: Record<string, unknown>;
}

/** In total, and per caller identified by a token or the host. */
const OPEN_CALLS = { total: 1000, each: 100 };

/** Calls of the stateless version that wait a few minutes for their client's answers. */
export class OpenCalls {
  readonly codec: RequestStateCodec<CallState>;
  readonly #system: System;
  readonly #waiting = new FairTable<{ call: OpenCall<unknown>; cancelTimer: () => void }>(
    OPEN_CALLS,
    ({ call, cancelTimer }) => {
      cancelTimer();
      call.abandon(new AgentError("tool-aborted", "Too many calls are waiting for answers."));
    },
  );

  constructor(key: string | Uint8Array, system: System) {
    this.#system = system;
    this.codec = createRequestStateCodec<CallState>({
      key,
      ttlSeconds: ANSWER_TIMEOUT_MS / 1000,
      bind: (ctx) => `${ctx.mcpReq.method}\0${principalOf(ctx.http?.authInfo) ?? ""}`,
    });
  }

  /**
   * Runs `work`, or the part of it that follows the answers of this exchange. If the waiting work is gone (another
   * process has it, or it waited too long), it runs again only if it is `repeatable`.
   */
  async run<Result>(
    ctx: ServerContext,
    subject: unknown,
    repeatable: boolean,
    work: (call: OpenCall<Result>) => Promise<Result>,
  ): Promise<Result | InputRequiredResult> {
    const state = ctx.mcpReq.requestState<CallState>();
    const given = ctx.mcpReq.inputResponses ?? {};
    const digest = createHash("sha256").update(JSON.stringify(subject)).digest("base64url");
    if (state && state.subject !== digest) throw invalidParams("requestState belongs to another call.");
    let call = state && (this.#take(state.ticket) as OpenCall<Result> | undefined);
    if (call) {
      await call.resume(ctx, given);
    } else {
      if (state && !repeatable)
        throw invalidParams(
          "The call that asked for this input no longer exists. Call again without requestState.",
        );
      const opened = new OpenCall<Result>(ctx, { ...state?.answers, ...given }, this.#system);
      opened.start(() => work(opened));
      call = opened;
    }
    const round = await call.round();
    if (round.kind === "done") return round.result;
    const ticket = this.#park(call as OpenCall<unknown>, principalOf(ctx.http?.authInfo));
    const answers = repeatable ? call.answers : {};
    return inputRequired({
      inputRequests: round.questions as Parameters<typeof inputRequired>[0]["inputRequests"] & object,
      requestState: await this.codec.mint({ ticket, subject: digest, answers }, ctx),
    });
  }

  close(): void {
    for (const ticket of this.#waiting.ids()) this.#drop(ticket, "The server is closing.");
  }

  #park(call: OpenCall<unknown>, owner: string | undefined): string {
    const ticket = this.#system.newId();
    const cancelTimer = this.#system.setTimer(
      ANSWER_TIMEOUT_MS,
      () => this.#drop(ticket, "The client did not answer in time."),
      { background: true },
    );
    this.#waiting.set(ticket, owner, { call, cancelTimer });
    return ticket;
  }

  #take(ticket: string): OpenCall<unknown> | undefined {
    const waiting = this.#waiting.get(ticket);
    if (!waiting) return undefined;
    waiting.cancelTimer();
    this.#waiting.delete(ticket);
    return waiting.call;
  }

  #drop(ticket: string, why: string): void {
    this.#take(ticket)?.abandon(new AgentError("tool-aborted", why));
  }
}
