import {
  type AnyRoute,
  ERROR_BODY_SHAPE,
  OPENAI_ERROR_BODY_SHAPE,
  ROUTE_LIST,
  type Shape,
} from "@selvedge/protocol/routes";

type Json = Record<string, unknown>;

const METHODS = {
  GET: "get",
  POST: "post",
  PUT: "put",
  PATCH: "patch",
  DELETE: "delete",
  ALL: "post",
} as const;

/** The app's authoriser decides what it accepts; almost all accept a token, and tools can send one. */
const BEARER = {
  type: "http",
  scheme: "bearer",
  description: "A token that the server's `authorize` function accepts. It may read other headers instead.",
};

/** The route table as an OpenAPI 3.1 document. Without an authoriser, no token is needed. */
export function openApi(serverUrl: string, { isGuarded }: { isGuarded: boolean }): Json {
  const schemas = new Components();
  const paths: Record<string, Json> = {};
  for (const route of ROUTE_LIST) {
    const path = route.path.replace(/:([a-zA-Z]+)/g, "{$1}");
    paths[path] = { ...paths[path], [METHODS[route.method]]: operation(route, schemas) };
  }
  return {
    openapi: "3.1.0",
    info: { title: "Selvedge", version: "1.0.0", license: { name: "Apache-2.0", identifier: "Apache-2.0" } },
    servers: [{ url: serverUrl }],
    tags: [...new Set(ROUTE_LIST.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: { schemas: schemas.all, securitySchemes: { bearer: BEARER } },
    security: isGuarded ? [{ bearer: [] }] : [{}, { bearer: [] }],
  };
}

function operation(route: AnyRoute & { name: string }, schemas: Components): Json {
  const { name, tag, summary, params, query, body, grant, owner } = route;
  const error = schemas.refer(tag === "openai" ? OPENAI_ERROR_BODY_SHAPE : ERROR_BODY_SHAPE);
  const parameters = [
    ...parametersIn("path", params, schemas),
    ...parametersIn("query", query, schemas),
    ...(route.events === "chunks" ? [LAST_EVENT_ID] : []),
  ];
  return {
    operationId: name,
    tags: [tag],
    summary,
    ...(grant && { description: `Needs the grant \`${grant}\`.` }),
    ...(owner === "public" && { security: [] }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: { required: true, content: { "application/json": { schema: schemas.refer(body) } } },
    }),
    responses: {
      200: answer(route, schemas),
      default: { description: "A failure", content: { "application/json": { schema: error } } },
    },
  };
}

const LAST_EVENT_ID = {
  name: "Last-Event-ID",
  in: "header",
  description: "Continue after this number",
  schema: { type: "integer", minimum: 0 },
};

function answer(route: AnyRoute, schemas: Components): Json {
  if (route.kind === "raw") return { description: route.summary };
  const json = route.response && { "application/json": { schema: schemas.refer(route.response) } };
  const events = (route.event ?? (route.events && {})) as Shape<unknown> | undefined;
  const stream = events && {
    "text/event-stream": { schema: { type: "string" }, "x-event-data": schemas.refer(events) },
  };
  return { description: route.summary, content: { ...json, ...stream } };
}

function parametersIn(
  place: "path" | "query",
  shape: Shape<unknown> | undefined,
  schemas: Components,
): Json[] {
  const { properties = {}, required = [] } = (shape ?? {}) as {
    properties?: Record<string, Shape<unknown>>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: place,
    required: required.includes(name),
    schema: schemas.refer(schema),
  }));
}

/** Shapes with a title are written once. */
class Components {
  readonly all: Record<string, Json> = {};

  refer(shape: Shape<unknown>): Json {
    return this.#walk(shape) as Json;
  }

  #walk(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#walk(item));
    if (typeof value !== "object" || value === null) return value;
    const { title } = value as { title?: unknown };
    if (typeof title !== "string") return this.#children(value);
    if (!Object.hasOwn(this.all, title)) {
      this.all[title] = {};
      this.all[title] = this.#children(value);
    }
    return { $ref: `#/components/schemas/${title}` };
  }

  #children(value: object): Json {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.#walk(item)]));
  }
}
