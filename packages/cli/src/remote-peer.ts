import { type ClientAgent, MastraClient, type RunStream } from "@selvedge/client-js";
import { AgentError } from "@selvedge/core/errors";
import type { AgentChunk } from "@selvedge/protocol";
import type { ChatPeer, WaitingCall } from "./chat-peer.ts";

function unreachable(url: string, error: unknown): never {
  if (!AgentError.is(error) || error.code !== "connection-failed") throw error;
  throw new AgentError(
    "connection-failed",
    `Cannot reach a server at ${url} (${error.message}). Start one with \`selvedge dev\`, which prints its address.`,
    { cause: error },
  );
}

/** An agent of a server. A line that breaks is taken up where it broke; the run goes on meanwhile. */
export class RemotePeer implements ChatPeer {
  readonly #client: MastraClient;
  readonly #agent: ClientAgent;
  readonly #resourceId: string;
  readonly name: string;
  #threadId = "";

  private constructor(client: MastraClient, agentId: string, name: string, resourceId: string) {
    this.#client = client;
    this.#agent = client.getAgent(agentId);
    this.#resourceId = resourceId;
    this.name = name;
  }

  /** The named agent of the server, or the first that has a memory. */
  static async connect(
    url: string,
    {
      agentId,
      resourceId,
      token,
    }: { agentId?: string | undefined; resourceId: string; token?: string | undefined },
  ): Promise<RemotePeer> {
    if (!/^https?:$/.test(URL.parse(url)?.protocol ?? "")) {
      throw new AgentError(
        "invalid-argument",
        `--url must be an address such as http://127.0.0.1:4111, got ${JSON.stringify(url)}.`,
      );
    }
    const headers = token ? { authorization: `Bearer ${token}` } : {};
    const client = new MastraClient({ baseUrl: url, headers });
    const agents = Object.entries(
      await client.call("listAgents").catch((error: unknown) => unreachable(url, error)),
    );
    const found = agents.find(([key, agent]) =>
      agentId === undefined ? agent.hasMemory : key === agentId || agent.id === agentId,
    );
    if (!found) {
      const wanted = agentId === undefined ? "no agent with a memory" : `no agent "${agentId}"`;
      const names = agents.map(([key]) => key).join(", ") || "none";
      throw new AgentError("not-found", `The server at ${url} has ${wanted}. Its agents: ${names}.`);
    }
    return new RemotePeer(client, found[1].id, found[1].name, resourceId);
  }

  async open(threadId: string | undefined): Promise<number> {
    const resourceId = this.#resourceId;
    if (threadId === undefined) {
      const { threads } = await this.#client.call("listThreads", { query: { resourceId, perPage: 1 } });
      this.#threadId = threads[0]?.id ?? crypto.randomUUID();
    } else {
      this.#threadId = threadId;
    }
    const query = { resourceId, perPage: 1 };
    try {
      const { total } = await this.#client.call("listMessages", {
        params: { threadId: this.#threadId },
        query,
      });
      return total;
    } catch (error) {
      // It begins with the first message.
      if (AgentError.is(error) && error.code === "not-found") return 0;
      throw error;
    }
  }

  startNew(): void {
    this.#threadId = crypto.randomUUID();
  }

  async send(text: string, signal: AbortSignal): Promise<AsyncIterable<AgentChunk>> {
    const memory = { thread: this.#threadId, resource: this.#resourceId };
    return this.#until(signal, await this.#agent.stream(text, { memory }));
  }

  async decide(
    { runId, toolCallId }: WaitingCall,
    approved: boolean,
    signal: AbortSignal,
  ): Promise<AsyncIterable<AgentChunk>> {
    const call = { runId, toolCallId };
    const run = approved ? await this.#agent.approveToolCall(call) : await this.#agent.declineToolCall(call);
    return this.#until(signal, run);
  }

  /** Leaving would not stop a run of the server: it is told to, and its last chunk says that it did. */
  #until(signal: AbortSignal, run: RunStream): AsyncIterable<AgentChunk> {
    const stop = (): void => {
      const thread = { threadId: this.#threadId, resourceId: this.#resourceId };
      this.#agent.abortThread(thread).catch(() => run.cancel());
    };
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
    return run;
  }
}
