import { AgentError } from "@selvedge/core";
import { isPrivateHost, type ResolveHost } from "@selvedge/core/guards";

/** Distinct hosts of one request. Each is a question to a name server. */
const MAX_HOSTS = 16;
const RESOLVE_MS = 2000;

/**
 * Where files of messages may be: at public addresses, and at hosts that the app names. The model's provider, a model
 * server next door or a tool fetches them, and must not be sent to where the caller cannot go.
 */
export class FileHosts {
  readonly #allowed: ReadonlySet<string> | "all";
  readonly #resolve: ResolveHost;

  constructor(allowed: readonly string[] | "all" = [], resolve: ResolveHost = publicAddresses) {
    this.#allowed = allowed === "all" ? "all" : new Set(allowed.map((host) => host.toLowerCase()));
    this.#resolve = resolve;
  }

  async check(hosts: ReadonlySet<string>): Promise<void> {
    if (this.#allowed === "all") return;
    if (hosts.size > MAX_HOSTS)
      throw new AgentError(
        "limit-exceeded",
        `The files of one request may come from at most ${MAX_HOSTS} hosts.`,
      );
    await Promise.all(
      [...hosts].map(async (host) => {
        if ((this.#allowed as ReadonlySet<string>).has(host)) return;
        // A name inside and one that does not exist are answered alike.
        if ((await isPrivateHost(host, this.#resolve)) !== false)
          throw new AgentError(
            "forbidden",
            `Files may not come from "${host.slice(0, 200)}": it is not a public address. Send the file's data, or add its host to allowedFileHosts.`,
          );
      }),
    );
  }
}

/** Asks name servers, and not the system, whose few threads for it one caller could keep busy. */
async function publicAddresses(name: string): Promise<string[]> {
  const { Resolver } = await import("node:dns/promises");
  const resolver = new Resolver({ timeout: RESOLVE_MS, tries: 2 });
  const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  return answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
}
