import { AgentError } from "@selvedge/core";
import { expect, it } from "vitest";
import { wireValue } from "./wire-value.ts";

const sent = (value: unknown) => JSON.parse(JSON.stringify(value, wireValue)) as unknown;

it("sends what a workflow can store and JSON has no form for", () => {
  const value = {
    big: 12n,
    map: new Map([["a", new Set([1])]]),
    bytes: new Uint8Array([1, 2, 3]),
    when: new Date(0),
    url: new URL("https://example.com/"),
    nothing: undefined,
  };
  expect(sent(value)).toEqual({
    big: "12",
    map: [["a", [1]]],
    bytes: "AQID",
    when: "1970-01-01T00:00:00.000Z",
    url: "https://example.com/",
  });
});

it("sends errors without their stack and cause", () => {
  expect(sent(new TypeError("no", { cause: new Error("secret") }))).toEqual({
    name: "TypeError",
    message: "no",
  });
  expect(sent(new AgentError("conflict", "taken", { details: { by: "bob" } }))).toEqual({
    name: "AgentError",
    message: "taken",
    code: "conflict",
    details: { by: "bob" },
  });
});
