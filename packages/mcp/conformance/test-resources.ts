import type { MCPServerResources } from "@selvedge/mcp";
import { PIXEL } from "./test-media.ts";

export const testResources: MCPServerResources = {
  listResources: async () => [
    { uri: "test://static-text", name: "static-text", mimeType: "text/plain" },
    { uri: "test://static-binary", name: "static-binary", mimeType: "image/png" },
    { uri: "test://watched-resource", name: "watched-resource", mimeType: "text/plain" },
  ],
  resourceTemplates: async () => [
    { uriTemplate: "test://template/{id}/data", name: "template", mimeType: "application/json" },
  ],
  getResourceContent: async ({ uri }) => {
    const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
    if (id !== undefined)
      return { text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) };
    if (uri === "test://static-binary") return { blob: PIXEL };
    return {
      text: uri === "test://static-text" ? "This is the content of the static text resource." : "Watched",
    };
  },
};
