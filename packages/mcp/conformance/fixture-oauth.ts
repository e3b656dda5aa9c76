import { InMemoryOAuthStorage, MCPOAuthClientProvider } from "@selvedge/mcp";

/** Our own provider, for a user who says yes at once: the authorization page is fetched, and its redirect is the answer. */
export class FixtureOAuth extends MCPOAuthClientProvider {
  override readonly waitForCallback: () => Promise<URLSearchParams>;

  constructor(serverUrl: URL, { client_id, client_secret }: { client_id?: string; client_secret?: string }) {
    let callback: URLSearchParams | undefined;
    super({
      serverUrl,
      redirectUrl: "http://localhost:3000/callback",
      clientMetadataUrl: "https://conformance-test.local/client-metadata.json",
      clientMetadata: { client_name: "selvedge-conformance" },
      storage: new InMemoryOAuthStorage(),
      ...(client_id !== undefined && {
        clientInformation: { client_id, ...(client_secret !== undefined && { client_secret }) },
      }),
      onRedirectToAuthorization: async (url) => {
        const response = await fetch(url, { redirect: "manual" });
        const location = response.headers.get("location");
        if (location === null) throw new Error(`${url.href} did not redirect.`);
        callback = new URL(location).searchParams;
      },
    });
    this.waitForCallback = async () => {
      if (!callback) throw new Error("No user was sent to an authorization server.");
      return callback;
    };
  }
}
