import type { AuthInfo } from "@modelcontextprotocol/server";

/**
 * Identifies the caller. Many users share one client, so the user is included when the token verifier names one
 * (`extra.sub`).
 */
export function principalOf(authInfo: Pick<AuthInfo, "clientId" | "extra"> | undefined): string | undefined {
  return authInfo && JSON.stringify([authInfo.clientId, authInfo.extra?.["sub"] ?? null]);
}
