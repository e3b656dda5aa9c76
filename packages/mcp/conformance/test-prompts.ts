import type { MCPServerPrompts, PromptMessage } from "@selvedge/mcp";
import { form } from "./test-forms.ts";
import { PIXEL } from "./test-media.ts";

const user = (content: PromptMessage["content"]): PromptMessage => ({ role: "user", content });
const text = (words: string): PromptMessage => user({ type: "text", text: words });
const argument = (name: string) => ({ name, description: `The ${name}`, required: true });

export const testPrompts: MCPServerPrompts = {
  listPrompts: async () => [
    { name: "test_simple_prompt", description: "Without arguments" },
    {
      name: "test_prompt_with_arguments",
      description: "With arguments",
      arguments: [argument("arg1"), argument("arg2")],
    },
    {
      name: "test_prompt_with_embedded_resource",
      description: "With a resource",
      arguments: [argument("resourceUri")],
    },
    { name: "test_prompt_with_image", description: "With an image" },
    { name: "test_input_required_result_prompt", description: "Asks first" },
  ],
  getPromptMessages: async ({ name, args, extra }) => {
    switch (name) {
      case "test_prompt_with_arguments":
        return [text(`Prompt with arguments: arg1='${args.arg1}', arg2='${args.arg2}'`)];
      case "test_prompt_with_embedded_resource": {
        const resource = {
          uri: args.resourceUri,
          mimeType: "text/plain",
          text: "Embedded resource content.",
        };
        return [user({ type: "resource", resource }), text("Please process the embedded resource above.")];
      }
      case "test_prompt_with_image":
        return [
          user({ type: "image", data: PIXEL, mimeType: "image/png" }),
          text("Please analyze the image above."),
        ];
      case "test_input_required_result_prompt": {
        const params = {
          message: "What context should the prompt use?",
          requestedSchema: form({ context: { type: "string" } }),
        };
        const answer = await extra!.sendRequest(
          { method: "elicitation/create", params },
          { key: "user_context" },
        );
        return [text(`Context: ${answer.content?.context}`)];
      }
      default:
        return [text("This is a simple prompt for testing.")];
    }
  },
};
