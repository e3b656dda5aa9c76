import assert from "node:assert/strict";
import type { MCPServer } from "@selvedge/mcp";
import { running } from "./block-set-up.ts";
import { weatherClient } from "./mcp-fixtures.ts";

type Weather = ReturnType<typeof weatherClient>;

/** The blocks of document 3 about MCP that run, against a real server on loopback. */
export const mcpBlocks = {
  "3-resources-list-2": printing("53000f6d", ({ lines }) => {
    assert.deepEqual(lines[0]?.[1], [{ uri: "weather://current", name: "Current" }]);
  }),
  "3-resources-templates-2": printing("8249ce93", ({ lines }) => {
    assert.deepEqual(lines[0]?.[1], [{ uriTemplate: "weather://{city}", name: "City" }]);
  }),
  "3-resources-read-2": printing("3f16d0a0", ({ lines }) => {
    assert.deepEqual(lines, [["Current weather:", "Sunny"]]);
  }),
  "3-resources-subscribe-2": printing("5f14380d", async ({ mcpClient, weather }) => {
    const updated = Promise.withResolvers<string>();
    await mcpClient.resources.onUpdated("myWeatherServer", ({ uri }) => updated.resolve(uri));
    await weather.resources.notifyUpdated({ uri: "weather://current" });
    assert.equal(await updated.promise, "weather://current");
  }),
  "3-resources-unsubscribe-2": printing("c4da963d", () => {}),
  "3-prompts-list-2": printing("dcb053fb", ({ lines }) => {
    assert.deepEqual(lines[0]?.[1], [{ name: "current" }]);
  }),
  "3-prompts-get-2": printing("dfee074c", ({ lines }) => {
    const message = { role: "user", content: { type: "text", text: "Weather in London" } };
    assert.deepEqual(lines, [[{ name: "current" }], [[message]]]);
  }),
  "3-mcpserverresources-type-2": {
    hash: "0c7e1f77",
    after: "export { serverWithResources };",
    run: async ({ serverWithResources }: { serverWithResources: MCPServer }) =>
      assert.equal(serverWithResources.getServerInfo().name, "Resourceful Server"),
  },
  "3-using-elicitation-in-tools-1": {
    hash: "affc13a4",
    after: "export { server };",
    run: async ({ server }: { server: MCPServer }) => {
      const answer = await server.executeTool("collectContactInfo", {});
      assert.match(answer, /^Error collecting contact information: .*elicitation needs an MCP client/);
    },
  },
};

/** A block that uses `mcpClient` and prints. */
function printing(hash: string, check: (given: Weather) => unknown) {
  return running<Weather>({
    hash,
    given: weatherClient,
    run: async (_, given) => {
      try {
        await check(given);
      } finally {
        await given.close();
      }
    },
  });
}
