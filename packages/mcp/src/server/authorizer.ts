import type { IncomingMessage, ServerResponse } from "node:http";
import { AgentError, type Logger } from "@selvedge/core";
import {
  type AuthInfo,
  bearerAuthChallengeResponse,
  getOAuthProtectedResourceMetadataUrl,
  OAuthError,
  OAuthErrorCode,
  verifyBearerToken,
} from "@modelcontextprotocol/server";

/** Restricts this server to callers with a token that an authorization server issued for it. */
export interface MCPServerAuth {
  /** This server's public URL. A token's audience must match it. */
  resource: string | URL;
  /** The authorization servers that issue such tokens. */
  authorizationServers: (string | URL)[];
  /**
   * Verifies a token's signature, issuer and revocation; throws if it is invalid. Set `resource` from the token's
   * `aud`, `expiresAt` from its `exp` and `extra.sub` to the user.
   */
  verifyToken(token: string): Promise<AuthInfo> | AuthInfo;
  /** Scopes that every call requires. */
  requiredScopes?: string[];
}

/** Checks tokens: a request without one learns where to get one, and a token for another server is refused. */
export class Authorizer {
  readonly #auth: MCPServerAuth;
  readonly #resource: URL;
  readonly #metadataUrl: string;
  readonly #logger: Logger;

  constructor(auth: MCPServerAuth, logger: Logger) {
    const { resource, authorizationServers, verifyToken } = auth;
    if (!URL.canParse(String(resource)))
      throw new AgentError(
        "invalid-argument",
        `auth.resource must be this server's public URL, got ${String(resource)}.`,
      );
    if (!Array.isArray(authorizationServers) || authorizationServers.length === 0)
      throw new AgentError("invalid-argument", "auth.authorizationServers must name at least one issuer.");
    if (typeof verifyToken !== "function")
      throw new AgentError("invalid-argument", "auth.verifyToken must be a function that checks a token.");
    this.#auth = auth;
    this.#resource = new URL(resource);
    this.#metadataUrl = getOAuthProtectedResourceMetadataUrl(this.#resource);
    this.#logger = logger;
  }

  /** Serves this resource's metadata at its well-known path. */
  serveMetadata(url: URL, req: IncomingMessage, res: ServerResponse): boolean {
    if (url.pathname !== new URL(this.#metadataUrl).pathname) return false;
    const { authorizationServers, requiredScopes } = this.#auth;
    const metadata = {
      resource: this.#resource.href,
      authorization_servers: authorizationServers.map(String),
      bearer_methods_supported: ["header"],
      ...(requiredScopes && { scopes_supported: requiredScopes }),
    };
    const headers = { "content-type": "application/json", "access-control-allow-origin": "*" };
    if (req.method === "GET") res.writeHead(200, headers).end(JSON.stringify(metadata));
    else res.writeHead(405, { allow: "GET" }).end();
    return true;
  }

  /** Sets `req.auth` to the caller, or responds with 401 or 403 itself and returns false. */
  async admit(req: IncomingMessage & { auth?: AuthInfo }, res: ServerResponse): Promise<boolean> {
    const { requiredScopes } = this.#auth;
    const challenge = { ...(requiredScopes && { requiredScopes }), resourceMetadataUrl: this.#metadataUrl };
    // Anything set here earlier is not backed by this token.
    delete req.auth;
    try {
      req.auth = await verifyBearerToken(req.headers.authorization, {
        ...challenge,
        expectedResource: this.#resource,
        verifier: { verifyAccessToken: (token) => this.#verify(token) },
      });
      return true;
    } catch (error) {
      const answer = bearerAuthChallengeResponse(error, challenge);
      res.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
      return false;
    }
  }

  async #verify(token: string): Promise<AuthInfo> {
    try {
      return await this.#auth.verifyToken(token);
    } catch (error) {
      if (error instanceof OAuthError) throw error;
      this.#logger.debug("An access token was rejected:", error);
      throw new OAuthError(OAuthErrorCode.InvalidToken, "The access token is not valid.");
    }
  }
}
