import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from "@modelcontextprotocol/client";

/**
 * What a failed request tells about its server:
 * - `refused`: the request was not accepted, so it can be retried on a new connection;
 * - `lost`: the connection broke during the request, so its outcome is unknown;
 * - `answered`: the server is up and returned an error.
 */
export type Failure = "refused" | "lost" | "answered";

export function classifyFailure(error: unknown): Failure {
  if (SdkHttpError.isInstance(error)) return error.status === 404 ? "refused" : "answered";
  if (ProtocolError.isInstance(error)) return "answered";
  if (SdkError.isInstance(error)) {
    if (error.code === SdkErrorCode.NotConnected || error.code === SdkErrorCode.SendFailed) return "refused";
    return error.code === SdkErrorCode.ConnectionClosed ? "lost" : "answered";
  }
  return isNetworkError(error) ? (NEVER_SENT.has(networkCode(error) ?? "") ? "refused" : "lost") : "answered";
}

/** Whether to fall back to the older SSE transport. */
export function suggestsSse(error: unknown): boolean {
  const status = statusOf(error);
  return status === undefined ? isNetworkError(error) : [400, 404, 405].includes(status);
}

const NEVER_SENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"]);

function statusOf(error: unknown): number | undefined {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (SdkHttpError.isInstance(at)) return at.status;
    if (typeof (at as { code?: unknown }).code === "number") return (at as unknown as { code: number }).code;
  }
  return undefined;
}

function isNetworkError(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause)
    if (at instanceof TypeError || networkCode(at) !== undefined) return true;
  return false;
}

function networkCode(error: unknown): string | undefined {
  for (let at = error; at instanceof Error; at = at.cause) {
    const { code } = at as { code?: unknown };
    if (typeof code === "string" && /^(E[A-Z]+|UND_ERR_)/.test(code)) return code;
  }
  return undefined;
}
