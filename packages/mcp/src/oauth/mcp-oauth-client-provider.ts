import { randomBytes } from "node:crypto";
import { AgentError, realSystem, type System } from "@selvedge/core";
import type {
  OAuthClientMetadata,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import type { WaitingOAuthProvider } from "../client/server-definition.ts";
import { FileOAuthStorage } from "./file-oauth-storage.ts";
import { LoopbackCallback } from "./loopback-callback.ts";
import type { OAuthStorage } from "./oauth-storage.ts";

export interface MCPOAuthClientProviderOptions {
  /** The MCP server these tokens belong to. They are never sent to another. */
  serverUrl: string | URL;
  /** Where the authorization server redirects the user back to. */
  redirectUrl: string | URL;
  /** Sends the user to the authorization server: opens a browser, or redirects their current request. */
  onRedirectToAuthorization(url: URL): void | Promise<void>;
  /**
   * Waits for the callback at `redirectUrl`, which must then be on this machine. Otherwise call `mcp.finishAuth` when
   * the user returns.
   */
  listen?: boolean;
  /** Client metadata for registration; `redirect_uris` is filled in. */
  clientMetadata?: Partial<OAuthClientMetadata>;
  /**
   * An https URL that serves this client's metadata. It is the client id where the authorization server supports that.
   */
  clientMetadataUrl?: string;
  /** A client that was registered by hand. */
  clientInformation?: StoredOAuthClientInformation;
  /** Defaults to files that only this user can read. */
  storage?: OAuthStorage;
  system?: System;
}

/** State that must survive from the redirect to the callback. */
interface Flow {
  startedAt: number;
  state?: string;
  codeVerifier?: string;
  discovery?: OAuthDiscoveryState;
}

/** The time a user has to sign in. After that, the authorization server's metadata is fetched again. */
const FLOW_MS = 10 * 60_000;

/**
 * Signs a user in at the authorization server of one MCP server and stores the result. The protocol library handles
 * registration, PKCE, `iss`, step-up and refresh; this class handles the server's identity, `state` and storage.
 */
export class MCPOAuthClientProvider implements WaitingOAuthProvider {
  readonly serverUrl: URL;
  readonly redirectUrl: string;
  readonly clientMetadataUrl?: string;
  readonly clientMetadata: OAuthClientMetadata;
  readonly waitForCallback?: () => Promise<URLSearchParams>;
  readonly #options: MCPOAuthClientProviderOptions;
  readonly #storage: OAuthStorage;
  readonly #system: System;
  /** The last tokens returned. */
  #tokens: StoredOAuthTokens | undefined;
  #callback: LoopbackCallback | undefined;

  constructor(options: MCPOAuthClientProviderOptions) {
    this.serverUrl = toUrl("serverUrl", options.serverUrl);
    this.redirectUrl = toUrl("redirectUrl", options.redirectUrl).href;
    if (typeof options.onRedirectToAuthorization !== "function")
      throw new AgentError(
        "invalid-argument",
        "onRedirectToAuthorization must be a function that opens a URL.",
      );
    if (options.clientMetadataUrl !== undefined) this.clientMetadataUrl = options.clientMetadataUrl;
    this.clientMetadata = {
      client_name: "Selvedge",
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      ...options.clientMetadata,
      redirect_uris: [this.redirectUrl],
    };
    this.#options = options;
    this.#storage = options.storage ?? new FileOAuthStorage();
    this.#system = options.system ?? realSystem;
    if (options.listen) this.waitForCallback = () => this.#comeBack();
  }

  async state(): Promise<string> {
    const state = randomBytes(24).toString("base64url");
    await this.#saveFlow({ state });
    return state;
  }

  /** Rejects a callback that does not belong to the flow started here. */
  async verifyCallback(query: URLSearchParams): Promise<void> {
    if (accepts(await this.#flow(), query)) return;
    throw new AgentError(
      "invalid-argument",
      "The sign-in response has an unknown or expired state. Start the sign-in again.",
    );
  }

  /** Stops listening for the callback. */
  abandonCallback(): void {
    this.#callback?.close();
  }

  async clientInformation(): Promise<StoredOAuthClientInformation | undefined> {
    return this.#options.clientInformation ?? this.#read<StoredOAuthClientInformation>("client");
  }

  async saveClientInformation(information: StoredOAuthClientInformation): Promise<void> {
    if (!this.#options.clientInformation) await this.#write("client", information);
  }

  /**
   * Requests use the tokens in memory. The decision to refresh reads storage first, because another process may have
   * stored newer ones.
   */
  async tokens(context?: { issuer?: string }): Promise<StoredOAuthTokens | undefined> {
    if (context || !this.#tokens) this.#tokens = await this.#read<StoredOAuthTokens>("tokens");
    return this.#tokens;
  }

  async saveTokens(tokens: StoredOAuthTokens): Promise<void> {
    this.#tokens = tokens;
    await this.#write("tokens", tokens);
    await this.#storage.delete(this.#key("flow"));
  }

  async saveCodeVerifier(codeVerifier: string): Promise<void> {
    await this.#saveFlow({ codeVerifier });
  }

  async codeVerifier(): Promise<string> {
    const { codeVerifier } = await this.#flow();
    if (codeVerifier !== undefined) return codeVerifier;
    throw new AgentError(
      "not-found",
      `No sign-in at ${this.serverUrl.origin} is in progress. Start it again.`,
    );
  }

  async saveDiscoveryState(discovery: OAuthDiscoveryState): Promise<void> {
    await this.#saveFlow({ discovery });
  }

  async discoveryState(): Promise<OAuthDiscoveryState | undefined> {
    return (await this.#flow()).discovery;
  }

  async redirectToAuthorization(url: URL): Promise<void> {
    if (this.#options.listen) {
      this.abandonCallback();
      const flow = await this.#flow();
      this.#callback = await LoopbackCallback.open(
        new URL(this.redirectUrl),
        (query) => accepts(flow, query),
        {
          system: this.#system,
          timeoutMs: FLOW_MS,
        },
      );
    }
    await this.#options.onRedirectToAuthorization(url);
  }

  async invalidateCredentials(scope: "all" | "client" | "tokens" | "verifier" | "discovery"): Promise<void> {
    if (scope === "all" || scope === "client") await this.#storage.delete(this.#key("client"));
    if (scope === "all" || scope === "verifier" || scope === "discovery")
      await this.#storage.delete(this.#key("flow"));
    if (scope !== "all" && scope !== "tokens") return;
    const stored = await this.#read<StoredOAuthTokens>("tokens");
    // Another process may have refreshed them in the meantime; its tokens are valid.
    if (stored?.access_token === this.#tokens?.access_token) await this.#storage.delete(this.#key("tokens"));
    this.#tokens = undefined;
  }

  async #comeBack(): Promise<URLSearchParams> {
    if (!this.#callback) throw new AgentError("not-found", "No user was sent to an authorization server.");
    return this.#callback.query;
  }

  async #flow(): Promise<Flow> {
    const flow = await this.#read<Flow>("flow");
    const now = this.#system.now();
    return flow && now - flow.startedAt < FLOW_MS ? flow : { startedAt: now };
  }

  async #saveFlow(change: Partial<Flow>): Promise<void> {
    await this.#write("flow", { ...(await this.#flow()), ...change });
  }

  async #read<Value>(what: string): Promise<Value | undefined> {
    const text = await this.#storage.get(this.#key(what));
    return text === undefined ? undefined : (JSON.parse(text) as Value);
  }

  async #write(what: string, value: unknown): Promise<void> {
    await this.#storage.set(this.#key(what), JSON.stringify(value));
  }

  #key(what: string): string {
    return `${what} ${this.serverUrl.href}`;
  }
}

function accepts({ state }: Flow, query: URLSearchParams): boolean {
  return state !== undefined && query.get("state") === state;
}

function toUrl(name: string, given: string | URL): URL {
  if (URL.canParse(String(given))) return new URL(given);
  throw new AgentError("invalid-argument", `${name} must be an absolute URL, got ${JSON.stringify(given)}.`);
}
