import { expect, it } from "vitest";
import { AgentError, errorMessage, toolErrorCode } from "../../errors.ts";
import { restoreOutcome, storeOutcome } from "./stored-outcome.ts";

it.each([
  ["an error of the tool's own", new TypeError("postgres://secret"), "tool-failed"],
  ["an error said on purpose", new AgentError("not-found", "No flight."), "not-found"],
  ["a value that is no error", "just words", undefined],
])("keeps the words of %s, and whose they are", (_, error, code) => {
  const outcome = restoreOutcome(
    JSON.parse(JSON.stringify(storeOutcome({ kind: "error", error }))) as ReturnType<typeof storeOutcome>,
  ) as { error: unknown };
  expect(errorMessage(outcome.error)).toBe(errorMessage(error));
  expect(toolErrorCode(outcome.error)).toBe(code);
});

it("leaves results as they are", () => {
  const outcome = { kind: "result", result: { sum: 3 } } as const;
  expect(restoreOutcome(storeOutcome(outcome))).toEqual(outcome);
});
