import type { IncomingMessage, ServerResponse } from "node:http";
import { hostHeaderValidation, originValidation } from "@modelcontextprotocol/node";

const LOOPBACK_NAMES = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Keeps web pages that a browser on this machine shows from talking to a server that trusts this machine (DNS
 * rebinding). On loopback only loopback names may be asked for, unless others are allowed; elsewhere only what
 * `allowed` names, if it names any. Answers 403 itself and returns false.
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
