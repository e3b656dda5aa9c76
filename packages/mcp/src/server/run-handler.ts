import { AgentError } from "@selvedge/core";
import type { CallExtra } from "./call-extra.ts";
import type { CallGuard } from "./call-tool.ts";
import { enterCall } from "./enter-call.ts";
import { ToolClock } from "./tool-clock.ts";

/**
 * Runs an app's handler for resources, prompts or completions. The limits on time, size and number are those of tool
 * calls. `subject` names the handler in messages for the client.
 */
export async function runHandler<Result>(
  subject: string,
  extra: CallExtra,
  { limits, running, system }: CallGuard,
  work: (extra: CallExtra) => Promise<Result>,
): Promise<Result> {
  const end = enterCall(running, extra.authInfo);
  try {
    const clock = new ToolClock(subject, limits.toolTimeoutMs, system);
    const result = await clock.run(extra.signal, (signal) =>
      // A handler may throw before it returns a promise.
      Promise.resolve().then(() =>
        work({
          ...extra,
          signal,
          sendRequest: (...given) => clock.standStill(() => extra.sendRequest(...given)),
        }),
      ),
    );
    const bytes = Buffer.byteLength(JSON.stringify(result) ?? "");
    if (bytes <= limits.toolResultBytes) return result;
    throw new AgentError(
      "limit-exceeded",
      `The response of ${subject} has ${bytes} bytes, over the limit of ${limits.toolResultBytes}.`,
    );
  } finally {
    end();
  }
}
