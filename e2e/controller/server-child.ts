import { appendFileSync } from "node:fs";
import { createTool, Mastra } from "@selvedge/core";
import { Agent } from "@selvedge/core/agent";
import { AgentController } from "@selvedge/core/agent-controller";
import { LibSQLStore } from "@selvedge/libsql";
import { serve } from "@selvedge/server/node";
import { scriptedModel } from "@selvedge/testing";

export interface ServerConfig {
  file: string;
  marks: string;
  port: number;
}

/** A process that serves a controller. */
const config = JSON.parse(process.argv[2]!) as ServerConfig;

/** Says the next thing, whoever asks: it goes by the conversation alone. */
const model = scriptedModel(({ prompt }) => {
  const said = JSON.stringify(prompt);
  const round = [...said.matchAll(/round (\d+)/g)].at(-1)?.[1] ?? "0";
  const call = `w${round}`;
  if (!said.includes(`"toolCallId":"${call}"`))
    return { toolCalls: [{ toolName: "write", input: { round }, toolCallId: call }] };
  return { text: Array.from({ length: 40 }, (_, index) => `${round}.${index} `) };
});

const write = createTool({
  id: "write",
  description: "Writes.",
  execute: async (_input, { toolCallId }) => {
    appendFileSync(config.marks, `${toolCallId}\n`);
    return "written";
  },
});

const controller = new AgentController({
  id: "loom",
  agent: new Agent({ name: "weaver", instructions: "Weave.", model, tools: { write } }) as unknown as Agent,
  modes: [{ id: "build" }],
  threads: { lease: { leaseMs: 500, renewMs: 100 } },
});
const storage = new LibSQLStore({ url: `file:${config.file}` });
const mastra = new Mastra({ agentControllers: { loom: controller }, storage });
const server = await serve({ mastra, port: config.port });
process.on("disconnect", () => process.exit());
process.send?.({ port: server.port });
