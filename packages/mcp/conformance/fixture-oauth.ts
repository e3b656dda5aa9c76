import type { WaitingOAuthProvider } from "@selvedge/mcp";
import type {
  OAuthClientMetadata,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";

const REDIRECT = "http://localhost:3000/callback";

/** A user who says yes at once: the authorization page is fetched, and its redirect is the answer. */
export class FixtureOAuth implements WaitingOAuthProvider {
  readonly redirectUrl: string = REDIRECT;
  readonly clientMetadataUrl: string = "https://conformance-test.local/client-metadata.json";
  readonly clientMetadata: OAuthClientMetadata = {
    client_name: "selvedge-conformance",
    redirect_uris: [REDIRECT],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
  };
  #information: StoredOAuthClientInformation | undefined;
  #tokens: StoredOAuthTokens | undefined;
  #verifier = "";
  #callback: URLSearchParams | undefined;

  constructor({ client_id, client_secret }: { client_id?: string; client_secret?: string }) {
    if (client_id !== undefined)
      this.#information = { client_id, ...(client_secret !== undefined && { client_secret }) };
  }

  clientInformation(): StoredOAuthClientInformation | undefined {
    return this.#information;
  }

  saveClientInformation(information: StoredOAuthClientInformation): void {
    this.#information = information;
  }

  tokens(): StoredOAuthTokens | undefined {
    return this.#tokens;
  }

  saveTokens(tokens: StoredOAuthTokens): void {
    this.#tokens = tokens;
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }

  invalidateCredentials(scope: "all" | "client" | "tokens" | "verifier" | "discovery"): void {
    if (scope === "all" || scope === "client") this.#information = undefined;
    if (scope === "all" || scope === "tokens") this.#tokens = undefined;
  }

  async redirectToAuthorization(url: URL): Promise<void> {
    const response = await fetch(url, { redirect: "manual" });
    const location = response.headers.get("location");
    if (location === null) throw new Error(`${url.href} did not redirect.`);
    this.#callback = new URL(location).searchParams;
  }

  async waitForCallback(): Promise<URLSearchParams> {
    if (!this.#callback) throw new Error("Nobody was sent to an authorization server.");
    return this.#callback;
  }
}
