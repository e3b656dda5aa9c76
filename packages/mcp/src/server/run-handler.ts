import { AgentError } from "@selvedge/core";
import type { CallExtra } from "./call-extra.ts";
import type { CallGuard } from "./call-tool.ts";
import { enterCall } from "./enter-call.ts";
import { ToolClock } from "./tool-clock.ts";

/**
 * Runs a handler of the app that is no tool: of resources, prompts or completions. Time, size and number have the limits that
 * calls of tools have. `subject` says what it is, in words for the client.
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
      // A handler may throw before it answers a promise.
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
