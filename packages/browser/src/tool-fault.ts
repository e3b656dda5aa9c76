import { AgentError, errorMessage } from "@selvedge/core/errors";

export interface ToolFailure {
  success: false;
  code: string;
  message: string;
  hint: string;
}

/** A failure that the model receives as a result. `code` is one of the browser's own. */
export function fault(code: string, message: string, hint: string): AgentError {
  return new AgentError("tool-failed", message, { details: { code, hint } });
}

/** What was known about the page when a call failed. */
interface Circumstances {
  /** Whether the call could have changed something. */
  acts: boolean;
  crashed: boolean;
}

/** Turns an error that a call threw into a result. */
export function toFailure(error: unknown, { acts, crashed }: Circumstances): ToolFailure {
  const failure = (code: string, message: string, hint: string): ToolFailure => ({
    success: false,
    code,
    message,
    hint,
  });
  if (AgentError.is(error)) {
    const { code, hint } = (error.details ?? {}) as { code?: string; hint?: string };
    return failure(code ?? error.code, error.message, hint ?? "The app has to fix this. Tell the user.");
  }
  const [line = ""] = errorMessage(error)
    .replaceAll(/\u001b\[\d+m/g, "")
    .split("\n");
  const text = line.slice(0, 300).toWellFormed();
  if (/(?:Target|page|context|browser|Frame).*(?:closed|crashed|detached)/i.test(text)) {
    const what = crashed ? "The page or the browser crashed" : "The tab was closed";
    const hint = "Check the current state with browser_tabs or browser_snapshot before you continue.";
    if (acts && crashed)
      return failure("tool-outcome-unknown", `${what}, so it is unknown whether this took effect.`, hint);
    const unknown = acts ? " during the call, so it is unknown whether this took effect" : " during the call";
    return failure(crashed ? "browser-crashed" : "tab-closed", `${what}${unknown}.`, hint);
  }
  if (error instanceof Error && error.name === "TimeoutError") {
    const covered = errorMessage(error).includes("intercepts pointer events");
    return failure(
      "timeout",
      text,
      covered
        ? "Another element covers this one. Close it or scroll it out of the way first."
        : "The page may be busy or the element not ready. Take a new snapshot, or pass a longer timeout.",
    );
  }
  if (/net::ERR_/.test(text))
    return failure("navigation-failed", text, "Check the address, or try again later.");
  return failure("browser-error", text, "Take a new snapshot and try another way.");
}
