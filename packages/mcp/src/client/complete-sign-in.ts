import { UnauthorizedError } from "@modelcontextprotocol/client";
import type { ServerTransport } from "./open-transport.ts";
import type { ServerConnection } from "./server-connection.ts";
import type { WaitingOAuthProvider } from "./server-definition.ts";
import { StdioTransport } from "./stdio-transport.ts";

/**
 * Called when a server requires sign-in. Waits for the user to return, if the provider can; returns whether to retry.
 */
export async function completeSignIn(
  connection: ServerConnection,
  error: unknown,
  transport: ServerTransport,
): Promise<boolean> {
  const provider = connection.definition.authProvider as WaitingOAuthProvider | undefined;
  if (!(error instanceof UnauthorizedError) || !provider?.waitForCallback) return false;
  if (transport instanceof StdioTransport) return false;
  if (connection.isClosed) provider.abandonCallback?.();
  const query = await provider.waitForCallback();
  await provider.verifyCallback?.(query);
  await transport.finishAuth(query);
  return true;
}
