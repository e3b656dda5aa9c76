import { AgentError } from "@selvedge/client-js";

/** An older server answered: it has no such route, or one that only speaks to a run under way. */
export function isMissingRoute(error: unknown): error is AgentError {
  if (!AgentError.is(error)) return false;
  if (error.code === "not-found" || error.code === "not-supported") return true;
  if (error.code !== "invalid-argument") return false;
  return error.details?.["status"] === 405 || /no active run/i.test(error.message);
}
