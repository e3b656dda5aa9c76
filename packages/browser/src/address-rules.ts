import { AgentError } from "@selvedge/core/errors";
import { isPrivateHost, type ResolveHost, systemAddresses } from "@selvedge/core/guards";
import { isIP } from "node:net";

export interface AddressRuleOptions {
  /** The only origins that pages may use, such as `http://localhost:3000`. `*` adds every public one. */
  allowedOrigins?: readonly string[];
  /** Default: false. */
  allowPrivateNetwork?: boolean;
  /** Looks up names, for tests. */
  resolve?: ResolveHost;
}

export type Admission = { addresses: readonly string[] } | { refused: string };

/** Decides which addresses the browser may connect to. */
export class AddressRules {
  readonly #named: ReadonlySet<string>;
  readonly #allowPrivate: boolean;
  readonly #resolve: ResolveHost;
  readonly #anyPublic: boolean;

  constructor({
    allowedOrigins,
    allowPrivateNetwork = false,
    resolve = systemAddresses,
  }: AddressRuleOptions) {
    this.#anyPublic = allowedOrigins?.includes("*") ?? true;
    this.#named = new Set(allowedOrigins?.filter((origin) => origin !== "*").map(toPlace));
    this.#allowPrivate = allowPrivateNetwork;
    this.#resolve = resolve;
  }

  /** The addresses of a host, checked. Connect to one of these: the name may resolve differently a moment later. */
  async admit(hostname: string, port: number): Promise<Admission> {
    const host = plainHost(hostname);
    const named = this.#named.has(`${host}:${port}`);
    if (!named && !this.#anyPublic)
      return { refused: `${host}:${port} is not one of the allowedOrigins of this browser.` };
    let addresses: readonly string[] = isIP(host) ? [host] : [];
    const lookUp: ResolveHost = async (name) => (addresses = await this.#resolve(name));
    if (named || this.#allowPrivate) {
      if (addresses.length === 0) await lookUp(host).catch(() => []);
    } else if ((await isPrivateHost(host, lookUp)) === true) {
      return {
        refused: `${host} is an address on this machine or its private network, which this browser may not reach.`,
      };
    }
    return addresses.length > 0 ? { addresses } : { refused: `The name ${host} does not resolve.` };
  }
}

/** Host and port of a URL, the key of rules and refusals. */
export function placeOf({ hostname, port, protocol }: URL): string {
  return `${plainHost(hostname)}:${port || (protocol === "https:" || protocol === "wss:" ? 443 : 80)}`;
}

function toPlace(origin: string): string {
  const url = URL.canParse(origin) ? new URL(origin) : undefined;
  if (url && /^https?:$/.test(url.protocol) && url.pathname === "/" && url.search === "") return placeOf(url);
  throw new AgentError(
    "invalid-argument",
    `allowedOrigins must list origins such as "https://example.com" or "http://localhost:3000", got ${JSON.stringify(origin)}.`,
  );
}

function plainHost(hostname: string): string {
  return hostname.toLowerCase().replace(/^\[|\]$|\.$/g, "");
}
