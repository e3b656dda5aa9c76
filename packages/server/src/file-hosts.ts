import { AgentError } from "@selvedge/core";
import { isPrivateHost, type ResolveHost } from "@selvedge/core/guards";

/** Distinct hosts per request. Each needs a DNS lookup. */
const MAX_HOSTS = 16;
const RESOLVE_MS = 2000;

/**
 * Where files of messages may be: at public addresses and at hosts the app names. The model provider, a local model
 * server or a tool fetches them, and must not be sent to places the caller cannot reach.
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
        // An internal name and a non-existent one get the same response.
        if ((await isPrivateHost(host, this.#resolve)) !== false)
          throw new AgentError(
            "forbidden",
            `Files may not come from "${host.slice(0, 200)}": it is not a public address. Send the file's data, or add its host to allowedFileHosts.`,
          );
      }),
    );
  }
}

/** Queries DNS servers directly: the system resolver has few threads, and one caller could occupy them all. */
async function publicAddresses(name: string): Promise<string[]> {
  const { Resolver } = await import("node:dns/promises");
  const resolver = new Resolver({ timeout: RESOLVE_MS, tries: 2 });
  const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  return answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
}
