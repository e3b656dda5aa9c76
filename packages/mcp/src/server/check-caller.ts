import type { IncomingMessage, ServerResponse } from "node:http";
import { hostHeaderValidation, originValidation } from "@modelcontextprotocol/node";

const LOOPBACK_NAMES = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Prevents web pages in a local browser from reaching a server that trusts this machine (DNS rebinding). On loopback,
 * only loopback host names are accepted unless others are allowed; elsewhere only the names in `allowed`, if it is set.
 * Responds with 403 itself and returns false.
 */
export function checkCaller(
  req: IncomingMessage,
  res: ServerResponse,
  allowed: { allowedHosts?: string[] | undefined; allowedOrigins?: string[] | undefined },
): boolean {
  const local = isLoopback(req.socket?.localAddress);
  const hosts = allowed.allowedHosts ?? (local ? LOOPBACK_NAMES : undefined);
  const origins = allowed.allowedOrigins ?? (local ? LOOPBACK_NAMES : undefined);
  if (hosts && !hostHeaderValidation(hosts)(req, res)) return false;
  return !origins || originValidation(origins)(req, res);
}

function isLoopback(address: string | undefined): boolean {
  return address === "::1" || /^(::ffff:)?127\./.test(address ?? "");
}
