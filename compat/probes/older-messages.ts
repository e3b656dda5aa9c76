import { Agent } from "@mastra/core/agent";
import { scripted } from "../model.ts";
import type { Probes } from "../probe.ts";

/** What the model reads of messages in the form of AI SDK 4. */
async function promptOf(messages: unknown[]): Promise<unknown> {
  const model = scripted(["ok"]);
  const agent = new Agent({ id: "a", name: "a", instructions: "Be brief.", model: model as never });
  await agent.generate(messages as never);
  return JSON.stringify(model.prompts[0]);
}

const IMAGE = "data:image/png;base64,iVBORw0KGgo=";

export const probes: Probes = {
  "toolInvocations reach the model as a call and its result": async () => {
    const prompt = String(
      await promptOf([
        { id: "1", role: "user", content: "Weather?" },
        {
          id: "2",
          role: "assistant",
          content: "",
          toolInvocations: [
            {
              state: "result",
              toolCallId: "c1",
              toolName: "weather",
              args: { city: "Rome" },
              result: "sunny",
            },
          ],
        },
        { id: "3", role: "user", content: "And now?" },
      ]),
    );
    return ['"tool-call"', '"tool-result"', "Rome", "sunny", "And now?"].map((part) => prompt.includes(part));
  },
  "experimental_attachments reach the model as a file": async () => {
    const prompt = String(
      await promptOf([
        {
          id: "1",
          role: "user",
          content: "What is this?",
          experimental_attachments: [{ name: "a.png", contentType: "image/png", url: IMAGE }],
        },
      ]),
    );
    return ['"file"', "image/png", "iVBORw0KGgo"].map((part) => prompt.includes(part));
  },
};
