/*
 * What a project should know that the packages cannot tell: what to use in place of a package that has no counterpart, and
 * which names and options are accepted without the effect they have elsewhere. What exists is in the catalog.
 */

/** Packages without a counterpart. The first pattern that matches the name after `@mastra/` applies. */
const IN_PLACE_OF: readonly (readonly [name: RegExp, remedy: string])[] = [
  [/^deployer/, "Remove it: `selvedge build` writes a folder that any host for Node can run."],
  [/^voice|^speech/, "Voice is not available. Call the provider's own package."],
  [/^auth/, "`server.auth` of `new Mastra()` accepts any object with `authenticateToken(token, request)`."],
  [/^fastembed$/, "Use @selvedge/embed-local, or a provider's embedder."],
  [/^agui$/, "AG-UI is not available. Use @selvedge/ai-sdk or @selvedge/client-js."],
  [/^(agent-browser|stagehand)$/, "Use AgentBrowser from @selvedge/browser."],
  [
    /^(hono|express|fastify|koa|server-adapter)$/,
    "Use `createServer({ mastra }).fetch` from @selvedge/server.",
  ],
  [/^inngest$/, "Remove it: workflows with storage are durable without it."],
  [/^duckdb$/, "Remove it: everything is kept in the store of `new Mastra({ storage })`."],
  [/^editor$/, "Remove it: agents are edited in code."],
  [/^schema-compat$/, "Remove it: schemas are converted for each model automatically."],
  [/^(slack|discord|telegram|channels)/, "Call the platform's own package in a route of `server.apiRoutes`."],
  [
    /^(langfuse|langsmith|braintrust|arize|sentry|datadog|laminar|posthog|otel)/,
    "Pass the platform's own OpenTelemetry exporter to `new Observability()` from @selvedge/observability.",
  ],
  [
    /^(upstash|mongodb|dynamodb|cloudflare|clickhouse|convex|mssql|redis|cloudflare-d1|d1)/,
    "Use @selvedge/libsql or @selvedge/pg.",
  ],
  [
    /^(qdrant|astra|couchbase|lance|opensearch|elasticsearch|vectorize|turbopuffer|s3vectors)/,
    "Use the vector stores of @selvedge/libsql, @selvedge/pg, @selvedge/chroma or @selvedge/pinecone.",
  ],
];

/** Modules without a counterpart in a package that has one. */
const MODULES: Readonly<Record<string, string>> = {
  "core/cache": "The ResponseCache processor keeps answers in the process or in the store.",
  "core/events": "Remove it: processes communicate through the store.",
  "core/harness": "Use AgentController from @selvedge/core/agent-controller.",
  "core/schema": "Pass zod, Valibot or ArkType schemas, or JSON Schema, directly.",
  "core/voice": "Voice is not available.",
};

/** What to do about a package that has no counterpart. */
export function remedyFor(name: string): string {
  const short = shortNameOf(name);
  return (
    IN_PLACE_OF.find(([pattern]) => pattern.test(short))?.[1] ?? "Remove it, or run that part separately."
  );
}

/** What to do about a module that a package does not have. */
export function remedyForModule(module: string): string {
  const short = shortNameOf(module);
  const known = Object.keys(MODULES).find((name) => short === name || short.startsWith(`${name}/`));
  return known === undefined ? "Import the names from another module of the package." : MODULES[known]!;
}

function shortNameOf(module: string): string {
  return module.replace(/^@[^/]+\//, "");
}

/** Names that load and do nothing, by module. */
export const NAMES_WITHOUT_EFFECT: Readonly<
  Record<string, readonly [names: readonly string[], remedy: string]>
> = {
  "@selvedge/observability": [
    ["CloudExporter", "DefaultExporter", "MastraPlatformExporter", "MastraStorageExporter"],
    "It sends nothing. Pass an OpenTelemetry exporter to export spans.",
  ],
};

export interface OptionDifference {
  /** The function or class whose options these are. */
  callee: string;
  /** See `FoundOption`. */
  path: RegExp;
  /** Which values differ; all of them if absent. */
  value?: RegExp;
  remedy: string;
}

const STORED = "It has no effect yet.";
const NOT_EMPTY = /^(?!\{\s*\})/;

/** Options that are accepted with no effect, or with another one. */
export const OPTION_DIFFERENCES: readonly OptionDifference[] = [
  {
    callee: "Mastra",
    path: /^(voice|tts|editor|bundler|deployer|gateways|pubsub)$/,
    value: NOT_EMPTY,
    remedy: STORED,
  },
  { callee: "Agent", path: /^(evals|voice|editor)$/, value: NOT_EMPTY, remedy: STORED },
  {
    callee: "Agent",
    path: /^defaultOptions\.autoResumeSuspendedTools$/,
    value: /^true/,
    remedy: "It has no effect. Answer a suspended call with `resumeStream()`.",
  },
  {
    callee: "Mastra",
    path: /^server\.cors\.origin$/,
    value: /^(?:\[\s*)?["']\*["']/,
    remedy: "Pages from other origins are rejected. List the allowed origins.",
  },
  {
    callee: "MastraCompositeStore",
    path: /^domains$/,
    remedy: "One store keeps everything: `default`, or the first of `domains`. The others are not used.",
  },
  {
    callee: "createTool",
    path: /^inputSchema\.\(\)\.(context|requestContext|runtimeContext|mastra|runId|threadId|resourceId)$/,
    remedy: "In `execute`, this name describes the call. Read the input's field as `context.<name>`.",
  },
];
