import { AgentError } from "@selvedge/client-js";

/** Whether an older server responded: it lacks the route, or its route only accepts messages to an active run. */
export function isMissingRoute(error: unknown): error is AgentError {
  if (!AgentError.is(error)) return false;
  if (error.code === "not-found" || error.code === "not-supported") return true;
  if (error.code !== "invalid-argument") return false;
  return error.details?.["status"] === 405 || /no active run/i.test(error.message);
}
