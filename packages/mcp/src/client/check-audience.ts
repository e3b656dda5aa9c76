import { AgentError } from "@selvedge/core";
import type { ServerDefinition } from "./read-definition.ts";
import type { WaitingOAuthProvider } from "./server-definition.ts";

/** Tokens are only sent to the server they were issued for. Another server could use them in the user's name. */
export function checkAudience(name: string, { url, authProvider }: ServerDefinition): void {
  const meant = (authProvider as WaitingOAuthProvider | undefined)?.serverUrl;
  if (meant === undefined || url === undefined || meant.href === url.href) return;
  throw new AgentError(
    "invalid-argument",
    `The authProvider of MCP server "${name}" has tokens for ${meant.href}, not for ${url.href}. Give each server its own.`,
  );
}

/** The same check for providers that do not name their server: one provider, one origin. */
export function checkProviders(servers: Record<string, ServerDefinition>): void {
  const seen = new Map<object, { name: string; origin: string }>();
  for (const [name, { url, authProvider }] of Object.entries(servers)) {
    if (!url || !authProvider || !("tokens" in authProvider)) continue;
    const { origin } = url;
    const other = seen.get(authProvider);
    if (other && other.origin !== origin) {
      throw new AgentError(
        "invalid-argument",
        `MCP servers "${other.name}" and "${name}" share one authProvider, so ${origin} would get the tokens of ${other.origin}. Give each its own.`,
      );
    }
    seen.set(authProvider, { name, origin });
  }
}
