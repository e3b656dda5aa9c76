import { AgentError } from "@selvedge/core";

export interface RequestRules {
  allowedHosts: readonly string[] | undefined;
  allowedOrigins: readonly string[];
}

/** Response headers that clients in a page may read. */
const EXPOSED = [
  "content-type",
  "mcp-session-id",
  "www-authenticate",
  "x-after",
  "x-run-id",
  "x-vercel-ai-ui-message-stream",
];
const USUAL_HEADERS = ["authorization", "content-type", "idempotency-key", "last-event-id"];
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9a-z-]{1,100}$/;
const LONGEST_NAMES = 4096;

const LOOPBACK: readonly string[] = ["localhost", "127.0.0.1", "[::1]", "::1"];

/** Which hosts a server responds to: without an authoriser, only names that always mean this machine. */
export function toRules(options: {
  authorize?: unknown;
  allowedHosts?: readonly string[] | undefined;
  allowedOrigins?: readonly string[] | undefined;
}): RequestRules {
  const { authorize, allowedHosts, allowedOrigins = [] } = options;
  return {
    allowedHosts: authorize ? allowedHosts : [...LOOPBACK, ...(allowedHosts ?? [])],
    allowedOrigins,
  };
}

/**
 * Refuses requests that a page on another site made a browser send: a host name pointed at this machine (`Host`), or a
 * cross-origin call (`Origin`). Returns the origin to allow if it is a different one.
 */
export function checkRequest(request: Request, rules: RequestRules): string | undefined {
  const host = request.headers.get("host") ?? new URL(request.url).host;
  const name = hostName(host);
  if (rules.allowedHosts && !rules.allowedHosts.includes(name))
    throw new AgentError("forbidden", `This server does not serve the host name "${name}".`);
  const origin = request.headers.get("origin");
  if (origin === null) {
    checkSite(request);
    return undefined;
  }
  if (rules.allowedOrigins.includes(origin)) return origin;
  if (originHost(origin) === host.toLowerCase()) return undefined;
  throw new AgentError(
    "forbidden",
    `Pages from "${origin.slice(0, 200)}" may not call this server. Add it to allowedOrigins, or have the page call its own origin and forward /api from there.`,
  );
}

/** Browsers omit `Origin` for images and scripts, but send `Sec-Fetch-Site`. Links may be followed. */
function checkSite({ headers }: Request): void {
  const site = headers.get("sec-fetch-site");
  if ((site === "cross-site" || site === "same-site") && headers.get("sec-fetch-mode") !== "navigate")
    throw new AgentError("forbidden", "Pages from other sites may not call this server.");
}

/** The headers that let a page of another origin read the response. */
export function corsHeaders(origin: string): Record<string, string> {
  return {
    "access-control-allow-origin": origin,
    "access-control-allow-credentials": "true",
    "access-control-expose-headers": EXPOSED.join(", "),
    vary: "origin",
  };
}

/**
 * Preflight response for an allowed origin. It allows the requested headers, because the app's clients choose their
 * own.
 */
export function preflight(origin: string, request: Request): Response {
  const asked = (request.headers.get("access-control-request-headers") ?? "").slice(0, LONGEST_NAMES);
  const names = asked.split(",").map((name) => name.trim().toLowerCase());
  const allowed = new Set([...USUAL_HEADERS, ...names.filter((name) => HEADER_NAME.test(name))]);
  return new Response(null, {
    status: 204,
    headers: {
      ...corsHeaders(origin),
      "access-control-allow-methods": "GET, POST, PUT, PATCH, DELETE",
      "access-control-allow-headers": [...allowed].join(", "),
      "access-control-max-age": "600",
      vary: "origin, access-control-request-headers",
    },
  });
}

export function isLoopback(hostname: string): boolean {
  return LOOPBACK.includes(hostname.toLowerCase()) || /^127(\.\d{1,3}){3}$/.test(hostname);
}

function hostName(host: string): string {
  return host.toLowerCase().replace(/:\d*$/, "");
}

function originHost(origin: string): string | undefined {
  try {
    return new URL(origin).host.toLowerCase();
  } catch {
    return undefined;
  }
}
