import { chmod, mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTool } from "@selvedge/core/tools";
import { describe, expect, it } from "vitest";
import { authorizationServer } from "../__fixtures__/authorization-server.ts";
import { host } from "../__fixtures__/host.ts";
import { scene, textOf } from "../__fixtures__/scene.ts";
import {
  FileOAuthStorage,
  InMemoryOAuthStorage,
  MCPOAuthClientProvider,
  type MCPOAuthClientProviderOptions,
  type MCPServer,
} from "../index.ts";

const { client, server, open } = scene();

const whoami = createTool({
  id: "whoami",
  description: "",
  execute: async (_, { extra }) =>
    `${String(extra?.authInfo?.extra?.["sub"])} ${extra?.authInfo?.scopes.join(",")}`,
});

/** An MCP server that wants tokens of a real authorization server, and that authorization server. */
async function guarded(options: Partial<Parameters<typeof authorizationServer>[0]> = {}) {
  const authority = await authorizationServer({ scopes: ["notes"], ...options });
  open(authority.close);
  let mcp: MCPServer;
  const seen: (string | undefined)[] = [];
  const started = await host((req, res) => {
    seen.push(req.headers.authorization);
    return mcp.startHTTP({ url: new URL(req.url!, started.url), httpPath: "/mcp", req, res });
  });
  open(started.close);
  mcp = server({
    tools: { whoami },
    auth: {
      resource: started.url,
      authorizationServers: [authority.issuer],
      verifyToken: authority.verifyToken,
      requiredScopes: ["notes"],
    },
  });
  return { authority, url: started.url, seen };
}

const freePort = async (): Promise<number> => {
  const { port, close } = await host(() => {});
  await close();
  return port;
};

/** A provider whose user signs in at once, with a browser that comes back. */
async function providerFor(
  { authority, url }: Awaited<ReturnType<typeof guarded>>,
  options: Partial<MCPOAuthClientProviderOptions> = {},
) {
  const asked: URL[] = [];
  const provider = new MCPOAuthClientProvider({
    serverUrl: url,
    redirectUrl: `http://127.0.0.1:${await freePort()}/callback`,
    listen: true,
    storage: new InMemoryOAuthStorage(),
    clientMetadata: { scope: "notes", application_type: "native" } as object,
    onRedirectToAuthorization: (at) => {
      asked.push(at);
      void authority.signIn(at).then((back) => fetch(back));
    },
    ...options,
  });
  return { provider, asked };
}

describe("signing in at an authorization server", () => {
  it.each(["2025-11-25", "2026-07-28"] as const)(
    "registers, sends the user away and back, and calls with a token for this server (%s)",
    async (protocolVersion) => {
      const setup = await guarded();
      const { provider, asked } = await providerFor(setup);
      const mcp = client({ a: { url: setup.url, protocolVersion, authProvider: provider } });
      const { tools, errors } = await mcp.getToolsWithErrors();
      expect(errors).toEqual({});
      expect(textOf(await tools["a_whoami"]!.execute({}))).toBe("ada notes");
      expect(setup.authority.used.registered).toBe(1);
      expect(asked).toHaveLength(1);
      expect(asked[0]!.searchParams.get("resource")).toBe(setup.url.href);
      expect(asked[0]!.searchParams.get("code_challenge_method")).toBe("S256");
    },
  );

  it("uses the address of its metadata as its name where the server takes that", async () => {
    const clientMetadataUrl = "https://app.example/client.json";
    const redirectUrl = `http://127.0.0.1:${await freePort()}/callback`;
    const metadataDocument = {
      client_id: clientMetadataUrl,
      client_name: "App",
      redirect_uris: [redirectUrl],
      application_type: "native",
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
      scope: "notes offline_access",
    };
    const setup = await guarded({ metadataDocument });
    const { provider, asked } = await providerFor(setup, { clientMetadataUrl, redirectUrl });
    const { errors } = await client({ a: { url: setup.url, authProvider: provider } }).getToolsWithErrors();
    expect(errors).toEqual({});
    expect(asked[0]!.searchParams.get("client_id")).toBe(clientMetadataUrl);
    expect(setup.authority.used.registered).toBe(0);
  });

  it("refreshes tokens that ran out, without asking the user again", async () => {
    const setup = await guarded({ accessTokenSeconds: 1 });
    const storage = new InMemoryOAuthStorage();
    const { provider, asked } = await providerFor(setup, { storage });
    const tools = await client({ a: { url: setup.url, authProvider: provider } }).getTools();
    const isOver = async () => {
      const { access_token } = (await provider.tokens())!;
      return Promise.resolve(setup.authority.verifyToken(access_token)).then(
        () => false,
        () => true,
      );
    };
    await expect.poll(isOver, { interval: 200 }).toBe(true);
    expect(textOf(await tools["a_whoami"]!.execute({}))).toBe("ada notes");
    expect(setup.authority.used.refreshed).toBeGreaterThan(0);
    expect(asked).toHaveLength(1);
  });

  it("goes on with what an earlier process stored", async () => {
    const setup = await guarded();
    const folder = await mkdtemp(join(tmpdir(), "mcp-oauth-"));
    open(() => rm(folder, { recursive: true }));
    const first = await providerFor(setup, { storage: new FileOAuthStorage(folder) });
    await client({ a: { url: setup.url, authProvider: first.provider } }).getTools();
    const second = await providerFor(setup, { storage: new FileOAuthStorage(folder) });
    const { errors } = await client({
      a: { url: setup.url, authProvider: second.provider },
    }).getToolsWithErrors();
    expect(errors).toEqual({});
    expect(second.asked).toEqual([]);
    expect(setup.authority.used.registered).toBe(1);
  });

  it("lets an application take the user back itself, and takes nobody else's return", async () => {
    const setup = await guarded();
    let back: Promise<URL> | undefined;
    const { provider } = await providerFor(setup, {
      listen: false,
      redirectUrl: "http://127.0.0.1:1/callback",
      onRedirectToAuthorization: (at) => void (back = setup.authority.signIn(at)),
    });
    const mcp = client({ a: { url: setup.url, authProvider: provider } });
    expect(Object.keys((await mcp.getToolsWithErrors()).errors)).toEqual(["a"]);
    const { searchParams } = await back!;
    const forged = new URLSearchParams(searchParams);
    forged.set("state", "another");
    await expect(mcp.finishAuth("a", forged)).rejects.toThrow(/unknown or expired state/);
    const mixedUp = new URLSearchParams(searchParams);
    mixedUp.set("iss", "https://evil.example");
    await expect(mcp.finishAuth("a", mixedUp)).rejects.toThrow(/iss/i);
    await mcp.finishAuth("a", searchParams);
    expect(Object.keys(await mcp.getTools())).toEqual(["a_whoami"]);
  });

  it("stops waiting for a user when the client is disconnected", async () => {
    const setup = await guarded();
    const { promise: sent, resolve } = Promise.withResolvers<void>();
    const { provider } = await providerFor(setup, { onRedirectToAuthorization: () => resolve() });
    const mcp = client({ a: { url: setup.url, authProvider: provider } });
    const listed = mcp.getToolsWithErrors();
    await sent;
    await mcp.disconnect();
    expect((await listed).errors["a"]).toMatch(/given up|closed/);
    await expect(fetch(provider.redirectUrl)).rejects.toThrow();
  });

  it("keeps waiting when another page sends a browser to the callback", async () => {
    const setup = await guarded();
    let redirect: string | undefined;
    const { provider } = await providerFor(setup, {
      onRedirectToAuthorization: (at) => {
        redirect = at.searchParams.get("redirect_uri")!;
        void (async () => {
          const forged = await fetch(`${redirect}?code=evil&state=guess`);
          expect(forged.status).toBe(400);
          await fetch(await setup.authority.signIn(at));
        })();
      },
    });
    const { errors } = await client({ a: { url: setup.url, authProvider: provider } }).getToolsWithErrors();
    expect(errors).toEqual({});
  });
});

describe("tokens and the servers they are for", () => {
  it("are refused by a server they were not issued for", async () => {
    const setup = await guarded();
    const { provider } = await providerFor(setup);
    await client({ a: { url: setup.url, authProvider: provider } }).getTools();
    const { access_token } = (await provider.tokens())!;
    const other = server({
      tools: { whoami },
      auth: {
        resource: "http://127.0.0.1:1/other",
        authorizationServers: [setup.authority.issuer],
        verifyToken: setup.authority.verifyToken,
      },
    });
    const started = await host((req, res) =>
      other.startHTTP({ url: new URL(req.url!, "http://x"), httpPath: "/mcp", req, res }),
    );
    open(started.close);
    const headers = {
      authorization: `Bearer ${access_token}`,
      accept: "application/json, text/event-stream",
    };
    const passedOn = await fetch(started.url, { method: "POST", headers, body: "{}" });
    expect(passedOn.status).toBe(401);
    expect(passedOn.headers.get("www-authenticate")).toMatch(/invalid_token/);
    const accepted = await fetch(setup.url, { method: "POST", headers, body: "{}" });
    expect(accepted.status).not.toBe(401);
  });

  it("are asked for with the address of the resource's description", async () => {
    const { url, authority } = await guarded();
    const refused = await fetch(url, { method: "POST" });
    expect(refused.status).toBe(401);
    const [, address] = /resource_metadata="([^"]+)"/.exec(refused.headers.get("www-authenticate")!)!;
    expect(await (await fetch(address!)).json()).toEqual({
      resource: url.href,
      authorization_servers: [authority.issuer],
      bearer_methods_supported: ["header"],
      scopes_supported: ["notes"],
    });
    const nonsense = await fetch(url, { method: "POST", headers: { authorization: "Bearer nonsense" } });
    expect(nonsense.status).toBe(401);
    expect(await nonsense.text()).not.toMatch(/JWS|compact/i);
  });

  it("are not sent to another server, by whoever's mistake", async () => {
    const setup = await guarded();
    const { provider } = await providerFor(setup);
    const elsewhere = new URL("http://127.0.0.1:9/mcp");
    expect(() => client({ a: { url: elsewhere, authProvider: provider } })).toThrow(
      /has tokens for .* not for/,
    );
    const unnamed = { ...bare(provider) };
    expect(() =>
      client({ a: { url: setup.url, authProvider: unnamed }, b: { url: elsewhere, authProvider: unnamed } }),
    ).toThrow(/"a" and "b" share one authProvider/);
  });
});

/** A provider as somebody else would write it, without the name of its server. */
function bare(provider: MCPOAuthClientProvider) {
  return {
    redirectUrl: provider.redirectUrl,
    clientMetadata: provider.clientMetadata,
    clientInformation: () => provider.clientInformation(),
    tokens: () => provider.tokens(),
    saveTokens: () => {},
    redirectToAuthorization: () => {},
    saveCodeVerifier: () => {},
    codeVerifier: () => "",
  };
}

describe("FileOAuthStorage", () => {
  it("keeps values in files that only their owner can read, one per key", async () => {
    const folder = await mkdtemp(join(tmpdir(), "mcp-oauth-"));
    open(() => rm(folder, { recursive: true }));
    await chmod(folder, 0o755);
    const storage = new FileOAuthStorage(folder);
    await Promise.all(Array.from({ length: 20 }, (_, index) => storage.set("same", `value ${index}`)));
    await storage.set("../other", "kept apart");
    const files = await readdir(folder);
    expect(files).toHaveLength(2);
    for (const file of [...files, "."]) expect((await stat(join(folder, file))).mode & 0o077).toBe(0);
    expect(await storage.get("same")).toMatch(/^value \d+$/);
    await storage.delete("same");
    expect(await storage.get("same")).toBeUndefined();
    expect(await storage.get("../other")).toBe("kept apart");
  });
});

it("keeps the tokens another process got when its own turn out to be old", async () => {
  const storage = new InMemoryOAuthStorage();
  const make = () =>
    new MCPOAuthClientProvider({
      serverUrl: "http://127.0.0.1:9/mcp",
      redirectUrl: "http://127.0.0.1:1/",
      onRedirectToAuthorization: () => {},
      storage,
    });
  const [first, second] = [make(), make()];
  await first.saveTokens({ access_token: "old", token_type: "Bearer" });
  await second.tokens();
  await first.saveTokens({ access_token: "new", token_type: "Bearer" });
  await second.invalidateCredentials("tokens");
  expect(await second.tokens()).toMatchObject({ access_token: "new" });
  await second.invalidateCredentials("tokens");
  expect(await second.tokens()).toBeUndefined();
});
