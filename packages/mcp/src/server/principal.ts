import type { AuthInfo } from "@modelcontextprotocol/server";

/**
 * Whose call it is. Many users share one client, so the user counts too where the token's verifier tells who it is
 * (`extra.sub`).
 */
export function principalOf(authInfo: Pick<AuthInfo, "clientId" | "extra"> | undefined): string | undefined {
  return authInfo && JSON.stringify([authInfo.clientId, authInfo.extra?.["sub"] ?? null]);
}
