import type { Server as HttpServer } from "node:http";
import type { Socket } from "node:net";
import type { Logger } from "@selvedge/core";
import { Quota } from "@selvedge/core/guards";

export interface ConnectionLimits {
  connections: number;
  connectionsPerAddress: number;
}

const WARN_EVERY_MS = 60_000;

/** Refuses connections over the limit before reading from them. At that point, clients are known only by address. */
export function limitConnections(http: HttpServer, limits: ConnectionLimits, logger: Logger): void {
  const quota = new Quota({ total: limits.connections, each: limits.connectionsPerAddress });
  let warnedAt = Number.NEGATIVE_INFINITY;
  http.on("connection", (socket: Socket) => {
    const owner = networkOf(socket.remoteAddress);
    const full = quota.full(owner);
    if (full === undefined) {
      socket.once("close", quota.take(owner));
      return;
    }
    socket.destroy();
    if (performance.now() - warnedAt < WARN_EVERY_MS) return;
    warnedAt = performance.now();
    logger.warn(
      full === "each"
        ? `${owner} has ${limits.connectionsPerAddress} connections; more are refused. If it is a proxy, raise limits.connectionsPerAddress.`
        : `There are ${limits.connections} connections; more are refused (limits.connections).`,
    );
  });
}

/** Identifies a client: its IPv4 address, or the /64 network that one customer has in IPv6. */
export function networkOf(address: string | undefined): string | undefined {
  if (address === undefined) return undefined;
  if (address.includes(".")) return address.slice(address.lastIndexOf(":") + 1);
  const [head = "", tail] = address.split("%")[0]!.split("::");
  const first = head.split(":").filter((group) => group !== "");
  const last = (tail ?? "").split(":").filter((group) => group !== "");
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => "0");
  return `${[...first, ...zeros, ...last].slice(0, 4).join(":")}::/64`;
}
