import { createServer } from "node:http";
import { AgentError } from "@selvedge/core";
import { createTool, type ToolExecutionOptions } from "@selvedge/core/tools";
import { MCPServer } from "@selvedge/mcp";
import { testPrompts } from "./test-prompts.ts";
import { testResources } from "./test-resources.ts";
import { ENUM_FORM, form, FORM_WITH_DEFAULTS } from "./test-forms.ts";
import { PIXEL, SILENCE } from "./test-media.ts";

// What the conformance suite expects a server to offer, built with MCPServer on its default options.
// Prints the address it listens on.

type Execute = (options: Options, input: Record<string, string>) => unknown;
type Options = ToolExecutionOptions & { extra: NonNullable<ToolExecutionOptions["extra"]> };

const tool = (id: string, execute: Execute, properties: Record<string, unknown> = {}) =>
  createTool({
    id,
    description: `Conformance: ${id}`,
    inputSchema: { type: "object", properties },
    execute: ({ context }, options) => execute(options as Options, context as Record<string, string>),
  });

const content = (...parts: unknown[]): unknown => ({ content: parts });
const image = { type: "image", data: PIXEL, mimeType: "image/png" };
const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 40));

const elicit = (options: Options, key: string, message: string, requestedSchema: unknown): Promise<any> =>
  options.extra["sendRequest"](
    { method: "elicitation/create", params: { message, requestedSchema } },
    { key },
  );
const sample = (options: Options, key: string, text: string): Promise<any> =>
  options.extra["sendRequest"](
    {
      method: "sampling/createMessage",
      params: { messages: [{ role: "user", content: { type: "text", text } }], maxTokens: 100 },
    },
    { key },
  );
const roots = (options: Options): Promise<any> =>
  options.extra["sendRequest"]({ method: "roots/list", params: {} }, { key: "client_roots" });
const show = (answer: unknown): string => JSON.stringify(answer);

const log = async ({ extra }: Options): Promise<string> => {
  for (const data of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
    await extra["sendNotification"]({ method: "notifications/message", params: { level: "info", data } });
    await pause();
  }
  return "logged";
};

const executions: Record<string, Execute | [Execute, Record<string, unknown>]> = {
  test_simple_text: () => "This is a simple text response for testing.",
  test_image_content: () => content(image),
  test_audio_content: () => content({ type: "audio", data: SILENCE, mimeType: "audio/wav" }),
  test_embedded_resource: () =>
    content({
      type: "resource",
      resource: {
        uri: "test://embedded-resource",
        mimeType: "text/plain",
        text: "This is an embedded resource content.",
      },
    }),
  test_multiple_content_types: () =>
    content({ type: "text", text: "Multiple content types test:" }, image, {
      type: "resource",
      resource: {
        uri: "test://mixed-content-resource",
        mimeType: "application/json",
        text: '{"test":"data","value":123}',
      },
    }),
  test_error_handling: () => {
    throw new AgentError("not-found", "This tool intentionally returns an error for testing");
  },
  test_tool_with_logging: log,
  test_logging_tool: log,
  test_tool_with_progress: async ({ extra }) => {
    const progressToken = extra["_meta"]?.progressToken;
    for (const progress of [0, 50, 100]) {
      const params = { progressToken, progress, total: 100, message: `Completed step ${progress} of 100` };
      if (progressToken !== undefined)
        await extra["sendNotification"]({ method: "notifications/progress", params });
      await pause();
    }
    return String(progressToken);
  },
  test_sampling: [
    async (options, { prompt }) => show((await sample(options, "completion", prompt ?? "")).content),
    { prompt: { type: "string" } },
  ],
  test_elicitation: [
    async ({ elicitation }, { message }) =>
      show(
        await elicitation.sendRequest({
          message: message ?? "",
          requestedSchema: form({ username: { type: "string" }, email: { type: "string" } }),
        }),
      ),
    { message: { type: "string" } },
  ],
  test_elicitation_sep1034_defaults: async ({ elicitation }) =>
    show(await elicitation.sendRequest({ message: "Please review", requestedSchema: FORM_WITH_DEFAULTS })),
  test_elicitation_sep1330_enums: async ({ elicitation }) =>
    show(await elicitation.sendRequest({ message: "Please select", requestedSchema: ENUM_FORM })),
  test_missing_capability: async (options) => show(await sample(options, "completion", "Hello")),
  test_streaming_elicitation: async (options) =>
    show(await elicit(options, "confirm", "Go on?", form({ ok: { type: "boolean" } }))),
  test_trigger_tool_change: () => server.tools.notifyListChanged().then(() => "told"),
  test_trigger_prompt_change: () => server.prompts.notifyListChanged().then(() => "told"),

  test_input_required_result_elicitation: async (options) => {
    const answer = await elicit(
      options,
      "user_name",
      "What is your name?",
      form({ name: { type: "string" } }),
    );
    return `Hello, ${answer.content?.name}!`;
  },
  test_input_required_result_sampling: async (options) =>
    show((await sample(options, "capital_question", "What is the capital of France?")).content),
  test_input_required_result_list_roots: async (options) => show((await roots(options)).roots),
  test_input_required_result_request_state: async (options) => {
    await elicit(options, "confirm", "Please confirm", form({ ok: { type: "boolean" } }));
    return "state-ok";
  },
  test_input_required_result_tampered_state: async (options) => {
    await elicit(options, "confirm", "Please confirm", form({ ok: { type: "boolean" } }));
    return "state-ok";
  },
  test_input_required_result_multiple_inputs: async (options) =>
    show(
      await Promise.all([
        elicit(options, "user_name", "What is your name?", form({ name: { type: "string" } })),
        sample(options, "greeting", "Generate a greeting"),
        roots(options),
      ]),
    ),
  test_input_required_result_multi_round: async (options) => {
    const name = await elicit(
      options,
      "step1",
      "Step 1: What is your name?",
      form({ name: { type: "string" } }),
    );
    const color = await elicit(
      options,
      "step2",
      "Step 2: Your favorite color?",
      form({ color: { type: "string" } }),
    );
    return show([name.content, color.content]);
  },
  test_input_required_result_capabilities: async (options) => {
    const { sampling, elicitation } = options.extra["clientCapabilities"];
    const asked = [
      sampling && sample(options, "greeting", "Generate a greeting"),
      elicitation && elicit(options, "user_name", "What is your name?", form({ name: { type: "string" } })),
    ];
    return show(await Promise.all(asked.filter(Boolean)));
  },
};

const server: MCPServer = new MCPServer({
  name: "selvedge-everything",
  version: "1.0.0",
  tools: Object.fromEntries(
    Object.entries(executions).map(([id, given]) => [
      id,
      Array.isArray(given) ? tool(id, ...given) : tool(id, given),
    ]),
  ),
  resources: testResources,
  prompts: testPrompts,
  complete: async ({ argument }) =>
    ["paris", "park", "party"].filter((word) => word.startsWith(argument.value)),
});

const http = createServer((req, res) => {
  void server.startHTTP({ url: new URL(req.url ?? "", "http://localhost"), httpPath: "/mcp", req, res });
});
http.listen(Number(process.env["PORT"] ?? 0), "127.0.0.1", () => {
  const address = http.address() as { port: number };
  console.log(`http://127.0.0.1:${address.port}/mcp`);
});
