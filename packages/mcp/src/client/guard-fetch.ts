import { AgentError } from "@selvedge/core";
import { isPrivateHost } from "@selvedge/core/guards";
import type { FetchLike } from "@modelcontextprotocol/client";

/**
 * Returns a fetch for the server at `base`. The user chose `base`, but redirects and the authorization server's
 * metadata are chosen by others, so a public server cannot lead to a private address.
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
          `MCP server ${base.origin} points to the private address ${target.origin}. Set allowPrivateAddresses to follow it.`,
        );
      }
    }
    return inner(input, init);
  };
}

/** An unresolvable name leads nowhere; the request itself will fail. */
async function isPrivate(hostname: string): Promise<boolean> {
  return (await isPrivateHost(hostname)) === true;
}
