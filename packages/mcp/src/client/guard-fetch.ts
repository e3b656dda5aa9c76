import { lookup } from "node:dns/promises";
import { BlockList, isIP } from "node:net";
import { AgentError } from "@selvedge/core";
import type { FetchLike } from "@modelcontextprotocol/client";

const PRIVATE = new BlockList();
for (const [network, prefix] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
] as const)
  PRIVATE.addSubnet(network, prefix, "ipv4");
for (const [network, prefix] of [
  ["::", 127],
  ["64:ff9b::", 96],
  ["fc00::", 7],
  ["fe80::", 10],
  ["ff00::", 8],
] as const)
  PRIVATE.addSubnet(network, prefix, "ipv6");

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

async function isPrivate(hostname: string): Promise<boolean> {
  const host = hostname.replace(/^\[|\]$/g, "");
  if (host === "localhost" || host.endsWith(".localhost")) return true;
  try {
    const addresses = isIP(host) ? [{ address: host }] : await lookup(host, { all: true });
    return addresses.some(({ address }) => PRIVATE.check(address, address.includes(":") ? "ipv6" : "ipv4"));
  } catch {
    // A name that means nothing leads nowhere; the request itself will say so.
    return false;
  }
}
