import type { Adapter } from "./types.ts";

export const ADAPTERS: readonly string[] = [
  "floor",
  "floor-journaled",
  "ours",
  "pi",
  "openai-agents",
  "mastra",
  "ai-sdk",
  "langgraph",
  "voltagent",
  "adk",
  "mcp-sdk",
];

export async function adapter(name: string): Promise<Adapter> {
  if (!ADAPTERS.includes(name))
    throw new Error(`There is no adapter "${name}". There are ${ADAPTERS.join(", ")}.`);
  return (await import(`./${name}.ts`)).default;
}
