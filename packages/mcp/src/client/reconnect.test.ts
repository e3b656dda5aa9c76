import { describe, expect, it } from "vitest";
import { scene } from "../__fixtures__/scene.ts";

const { client, hosted } = scene();

describe.each(["2025-11-25", "2026-07-28"] as const)(
  "after a server of %s was started again",
  (protocolVersion) => {
    it("hears of the resources it follows, without being told to", async () => {
      const resources = {
        listResources: async () => [{ uri: "note://1", name: "One" }],
        getResourceContent: async () => ({ text: "hi" }),
      };
      const first = await hosted({ resources });
      const mcp = client({ a: { url: first.url, protocolVersion } });
      const heard: string[] = [];
      await mcp.resources.onUpdated("a", ({ uri }) => heard.push(uri));
      await mcp.resources.subscribe("a", "note://1");
      await expect
        .poll(async () => {
          await first.server.resources.notifyUpdated({ uri: "note://1" });
          return heard.length;
        })
        .toBeGreaterThan(0);
      await first.server.close();
      await first.close();
      const second = await hosted({ resources }, undefined, first.port);
      heard.length = 0;
      await expect
        .poll(
          async () => {
            await second.server.resources.notifyUpdated({ uri: "note://1" });
            return heard.length;
          },
          { interval: 100 },
        )
        .toBeGreaterThan(0);
    });
  },
);
