import { ROUTE_LIST } from "@selvedge/protocol/routes";
import { Validator } from "@seriousme/openapi-schema-validator";
import { expect, test } from "vitest";
import { served } from "./__fixtures__/served.ts";

test("the document is valid OpenAPI 3.1, with every route", async () => {
  const { json } = served([]);
  const document = await json("openApi");
  const validator = new Validator();
  const result = await validator.validate(document as never);
  expect(result).toMatchObject({ valid: true });
  expect(validator.version).toBe("3.1");
  const operations = Object.values(
    document["paths"] as Record<string, Record<string, { operationId: string }>>,
  )
    .flatMap((methods) => Object.values(methods))
    .map(({ operationId }) => operationId);
  expect(operations.toSorted()).toEqual(ROUTE_LIST.map(({ name }) => name).toSorted());
  expect(JSON.stringify(document)).not.toContain('"#/components/schemas/undefined"');
});

test("the explorer loads nothing from elsewhere, and says so to the browser", async () => {
  const { call } = served([]);
  const response = await call("explorer");
  const page = await response.text();
  expect(page).not.toMatch(/(?:src|href)=|https?:\/\/|@import|import\(/);
  expect(response.headers.get("content-security-policy")).toMatch(/^default-src 'none'; script-src 'sha256-/);
});
