import { createServer } from "node:http";
import { createRemoteJWKSet, jwtVerify } from "jose";
import { Provider } from "oidc-provider";
import type { MCPServerAuth } from "../index.ts";

export interface AuthorizationServer {
  issuer: string;
  /** How often each endpoint was used. */
  used: { registered: number; refreshed: number };
  /**
   * Follows the redirects as a browser would, for a user who signs in and consents. Returns the last one, to the
   * client.
   */
  signIn(url: URL): Promise<URL>;
  /** Verifies a token of this server. */
  verifyToken: MCPServerAuth["verifyToken"];
  close(): Promise<void>;
}

/** A real authorization server (oidc-provider) on loopback, with one user who consents to everything. */
export async function authorizationServer(options: {
  scopes: string[];
  accessTokenSeconds?: number;
  /** A client's metadata document, as served at its URL. */
  metadataDocument?: object;
}): Promise<AuthorizationServer> {
  const http = createServer();
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(http.address() as { port: number }).port}`;
  const used = { registered: 0, refreshed: 0 };
  const provider = new Provider(issuer, {
    scopes: ["offline_access", ...options.scopes],
    cookies: { keys: ["test"] },
    clientAuthMethods: ["none"],
    clientDefaults: { token_endpoint_auth_method: "none" },
    ttl: {
      AccessToken: options.accessTokenSeconds ?? 60,
      Grant: 600,
      Interaction: 60,
      Session: 600,
      RefreshToken: 600,
    },
    issueRefreshToken: async () => true,
    rotateRefreshToken: true,
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_ctx, audience) => ({
          scope: options.scopes.join(" "),
          audience,
          accessTokenFormat: "jwt",
        }),
      },
      ...(options.metadataDocument && {
        clientIdMetadataDocument: { enabled: true, ack: "draft-02" },
      }),
    },
    ...(options.metadataDocument && { fetch: async () => Response.json(options.metadataDocument) }),
    interactions: { url: (_ctx, interaction) => `/interaction/${interaction.uid}` },
    findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  } as ConstructorParameters<typeof Provider>[1]);
  provider.on("registration_create.success", () => used.registered++);
  provider.on("grant.success", (ctx) => {
    if (ctx.oidc.params?.["grant_type"] === "refresh_token") used.refreshed++;
  });
  const handle = provider.callback();
  http.on("request", (req, res) => {
    if (!req.url?.startsWith("/interaction/")) return void handle(req, res);
    void (async () => {
      const { prompt, params, session } = await provider.interactionDetails(req, res);
      if (prompt.name === "login")
        return provider.interactionFinished(req, res, { login: { accountId: "ada" } });
      const scope = (params["scope"] as string | undefined) ?? "";
      const grant = new provider.Grant({
        accountId: session!.accountId,
        clientId: String(params["client_id"]),
      });
      grant.addOIDCScope(`openid offline_access ${scope}`);
      grant.addResourceScope(String(params["resource"]), scope);
      return provider.interactionFinished(req, res, { consent: { grantId: await grant.save() } });
    })();
  });
  const keys = createRemoteJWKSet(new URL(`${issuer}/jwks`));
  return {
    issuer,
    used,
    verifyToken: async (token) => {
      const { payload } = await jwtVerify(token, keys, { issuer });
      return {
        token,
        clientId: payload["client_id"] as string,
        scopes: ((payload["scope"] as string | undefined) ?? "").split(" "),
        expiresAt: payload.exp!,
        resource: new URL(String(payload.aud)),
        extra: { sub: payload.sub },
      };
    },
    signIn: (url) => signIn(url, issuer),
    close: () =>
      new Promise((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
  };
}

async function signIn(url: URL, issuer: string): Promise<URL> {
  const cookies = new Map<string, string>();
  let at = url;
  for (let hops = 0; at.origin === issuer; hops++) {
    if (hops > 10) throw new Error(`Going round in circles at ${at.href}.`);
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(at, { redirect: "manual", headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [name, value] = line.split(";")[0]!.split("=") as [string, string];
      cookies.set(name, value);
    }
    const location = response.headers.get("location");
    if (!location) throw new Error(`${at.href} answered ${response.status}: ${await response.text()}`);
    at = new URL(location, at);
  }
  return at;
}
