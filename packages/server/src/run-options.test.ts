import { OPTION_NAMES, OPTION_RULES } from "@selvedge/core/guards";
import { ROUTES } from "@selvedge/protocol/routes";
import { expect, it } from "vitest";

it("a request can set exactly the options whose rule says so", () => {
  const { streamOptions } = ROUTES.sendToolApproval.body["properties"] as Record<
    string,
    { properties: object }
  >;
  const allowed = OPTION_NAMES.filter((name) => OPTION_RULES[name].wire !== "closed");
  expect(new Set(Object.keys(streamOptions!.properties))).toEqual(new Set(allowed));
});
