import { AgentError } from "@selvedge/core";
import { isPrivateHost } from "@selvedge/core/guards";
import type { FetchLike } from "@modelcontextprotocol/client";

/**
 * A fetch for talking to the server at `base`. Whoever configured `base` chose that address; where a redirect or an
 * authorization server's metadata leads was chosen by others, so from a public server no private address is reached.
 */
export function guardFetch(base: URL, inner: FetchLike = fetch): FetchLike {
  let trusted: Promise<boolean> | undefined;
  return async (input, init) => {
    const target = new URL(input);
    if (target.origin !== base.origin && (await isPrivate(target.hostname))) {
      trusted ??= isPrivate(base.hostname);
      if (!(await trusted)) {
        throw new AgentError(
          "not-supported",
          `MCP server ${base.origin} leads to the private address ${target.origin}. Set allowPrivateAddresses to follow it.`,
        );
      }
    }
    return inner(input, init);
  };
}

/** A name that means nothing leads nowhere; the request itself will say so. */
async function isPrivate(hostname: string): Promise<boolean> {
  return (await isPrivateHost(hostname)) === true;
}
