import { Tool, type ToolLike } from "../tool/tool.ts";

/** Whether this is a tool of the AI SDK. */
export function isVercelTool(tool?: ToolLike): boolean {
  return (
    typeof tool === "object" &&
    tool !== null &&
    !(tool instanceof Tool) &&
    tool.id === undefined &&
    "inputSchema" in tool
  );
}
