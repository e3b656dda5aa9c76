import { AgentError, errorMessage } from "@selvedge/protocol";

export { AgentError, errorMessage, showValue, toolErrorCode, UNEXPECTED_CODES } from "@selvedge/protocol";

/** Throws on a Node that is too old, with one sentence instead of a syntax error or a missing method later. */
export function checkNode(version: string | undefined): void {
  const [major = 0, minor = 0] = (version ?? "").split(".").map(Number);
  // Browsers and other runtimes have no Node version.
  if (version === undefined || major > 22 || (major === 22 && minor >= 13)) return;
  throw new AgentError(
    "invalid-argument",
    `Selvedge needs Node.js 22.13 or later, but this is Node.js ${version}. Install a newer one from https://nodejs.org.`,
  );
}

checkNode(globalThis.process?.versions?.node);

/** What a store threw, in our words. */
export function storageError(thrown: unknown): AgentError {
  if (AgentError.is(thrown)) return thrown;
  return new AgentError("storage-failed", `The store failed: ${errorMessage(thrown)}`, { cause: thrown });
}
