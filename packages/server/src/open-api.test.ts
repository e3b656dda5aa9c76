import { ROUTE_LIST } from "@selvedge/protocol/routes";
import { Validator } from "@seriousme/openapi-schema-validator";
import { expect, test } from "vitest";
import { byHeader, served } from "./__fixtures__/served.ts";

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

interface Operation {
  security?: object[];
  responses: { default: { content: { "application/json": { schema: { $ref: string } } } } };
}

async function documentOf(authorize?: typeof byHeader) {
  const document = await served([], { authorize }).json("openApi");
  return document as unknown as {
    security: object[];
    paths: Record<string, Record<string, Operation>>;
    components: {
      schemas: Record<string, { properties: Record<string, unknown> }>;
      securitySchemes: Record<string, object>;
    };
  };
}

test("the document describes errors in the form that each route has", async () => {
  const { paths, components } = await documentOf();
  for (const [path, methods] of Object.entries(paths))
    for (const { responses } of Object.values(methods)) {
      const name = responses.default.content["application/json"].schema.$ref.split("/").at(-1)!;
      expect([path, name]).toEqual([path, path.startsWith("/v1/") ? "OpenAIError" : "Error"]);
    }
  const { call } = served([]);
  const ours = (await (await call("getAgent", { params: { agentId: "none" } })).json()) as object;
  const theirs = (await (await call("getResponse", { params: { responseId: "none" } })).json()) as object;
  expect(Object.keys(components.schemas["Error"]!.properties)).toEqual(
    expect.arrayContaining(Object.keys(ours)),
  );
  expect(Object.keys(components.schemas["OpenAIError"]!.properties)).toEqual(Object.keys(theirs));
});

test("the document says how callers are known", async () => {
  const guarded = await documentOf(byHeader);
  expect(guarded.components.securitySchemes).toMatchObject({ bearer: { type: "http", scheme: "bearer" } });
  expect(guarded.security).toEqual([{ bearer: [] }]);
  expect(guarded.paths["/health"]!["get"]!.security).toEqual([]);
  expect(guarded.paths["/api/agents"]!["get"]!.security).toBeUndefined();
  // Without an authoriser a token is not needed.
  expect((await documentOf()).security).toContainEqual({});
});

test("the explorer loads nothing from elsewhere, and says so to the browser", async () => {
  const { call } = served([]);
  const response = await call("explorer");
  const page = await response.text();
  expect(page).not.toMatch(/(?:src|href)=|https?:\/\/|@import|import\(/);
  expect(response.headers.get("content-security-policy")).toMatch(/^default-src 'none'; script-src 'sha256-/);
});
