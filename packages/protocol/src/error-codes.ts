/**
 * Every error code, with its HTTP status and whether the same call may succeed later. `AgentError` carries one of
 * these; the client rebuilds it from the wire.
 */
export const ERROR_CODES = {
  "invalid-argument": { status: 400, retryable: false },
  "invalid-context": { status: 400, retryable: false },
  "invalid-message": { status: 400, retryable: false },
  "invalid-schema": { status: 400, retryable: false },
  unauthorized: { status: 401, retryable: false },
  forbidden: { status: 403, retryable: false },
  "limit-exceeded": { status: 413, retryable: false },
  "not-found": { status: 404, retryable: false },
  "not-supported": { status: 501, retryable: false },
  "memory-required": { status: 400, retryable: false },
  "storage-required": { status: 400, retryable: false },
  "storage-failed": { status: 503, retryable: true },
  "storage-closed": { status: 503, retryable: false },
  "request-timeout": { status: 408, retryable: true },
  conflict: { status: 409, retryable: true },
  "model-unknown": { status: 400, retryable: false },
  "model-unsupported": { status: 400, retryable: false },
  "model-key-missing": { status: 400, retryable: false },
  "model-package-missing": { status: 501, retryable: false },
  "model-failed": { status: 502, retryable: true },
  "model-timeout": { status: 504, retryable: true },
  "model-incomplete": { status: 502, retryable: true },
  "thread-suspended": { status: 409, retryable: false },
  "thread-busy": { status: 409, retryable: true },
  superseded: { status: 409, retryable: true },
  "already-decided": { status: 409, retryable: false },
  ambiguous: { status: 409, retryable: false },
  "mailbox-full": { status: 429, retryable: true },
  "too-many-requests": { status: 429, retryable: true },
  "too-many-streams": { status: 429, retryable: true },
  "reader-too-slow": { status: 410, retryable: true },
  "attempts-exhausted": { status: 500, retryable: false },
  "tool-outcome-unknown": { status: 500, retryable: false },
  "step-outcome-unknown": { status: 500, retryable: false },
  "file-changed": { status: 409, retryable: false },
  "tool-not-found": { status: 404, retryable: false },
  "tool-input-invalid": { status: 400, retryable: false },
  "tool-output-invalid": { status: 500, retryable: false },
  "tool-failed": { status: 500, retryable: false },
  "tool-timeout": { status: 504, retryable: true },
  "tool-aborted": { status: 499, retryable: false },
  "processor-failed": { status: 500, retryable: false },
  "structured-output-invalid": { status: 502, retryable: true },
  tripwire: { status: 422, retryable: false },
  "connection-failed": { status: 503, retryable: true },
  internal: { status: 500, retryable: false },
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;

/**
 * Errors of the app rather than the request. Their messages contain text of stores, tools, providers and libraries, so
 * they only go to the log.
 */
export const UNEXPECTED_CODES: ReadonlySet<unknown> = new Set<ErrorCode>([
  "internal",
  "storage-failed",
  "storage-closed",
  "tool-failed",
  "processor-failed",
  "model-failed",
]);
