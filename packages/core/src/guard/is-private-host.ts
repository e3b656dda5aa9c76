import { BlockList, isIP } from "node:net";

const PRIVATE = new BlockList();
for (const [network, prefix] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
] as const)
  PRIVATE.addSubnet(network, prefix, "ipv4");

/** In IPv6 only 2000::/3 is public, without ranges that map to another address or a special one. */
const PUBLIC_6 = new BlockList();
PUBLIC_6.addSubnet("2000::", 3, "ipv6");
const PRIVATE_6 = new BlockList();
for (const [network, prefix] of [
  ["2001::", 23],
  ["2002::", 16],
] as const)
  PRIVATE_6.addSubnet(network, prefix, "ipv6");

/** The addresses of a name; empty if it does not resolve. */
export type ResolveHost = (name: string) => Promise<readonly string[]>;

/**
 * Whether a URL's host is internal: this machine, its network, or its cloud's metadata service. `unknown` means the
 * name does not resolve from here.
 */
export async function isPrivateHost(
  hostname: string,
  resolve: ResolveHost = systemAddresses,
): Promise<boolean | "unknown"> {
  const host = hostname.toLowerCase().replace(/^\[|\]$|\.$/g, "");
  if (host === "localhost" || host.endsWith(".localhost")) return true;
  const addresses = isIP(host) ? [host] : await resolve(host).catch(() => []);
  if (addresses.length === 0) return "unknown";
  return addresses.some(isPrivateAddress);
}

function isPrivateAddress(address: string): boolean {
  if (!address.includes(":")) return PRIVATE.check(address, "ipv4");
  return !PUBLIC_6.check(address, "ipv6") || PRIVATE_6.check(address, "ipv6");
}

/** As a connection from this process would resolve them. */
export async function systemAddresses(name: string): Promise<string[]> {
  const { lookup } = await import("node:dns/promises");
  return (await lookup(name, { all: true })).map(({ address }) => address);
}
