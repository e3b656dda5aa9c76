import { fileURLToPath } from "node:url";
import { createTool } from "@selvedge/core/tools";
import { Agent } from "@selvedge/core/agent";
import { scriptedModel } from "@selvedge/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { hostSse } from "../__fixtures__/host.ts";
import { scene, textOf } from "../__fixtures__/scene.ts";

const { client, server, hosted, open } = scene();
const CHILD = fileURLToPath(new URL("../__fixtures__/stdio-server.ts", import.meta.url));

const fail = createTool({
  id: "fail",
  description: "Fails.",
  execute: async () => {
    throw new Error("postgres://admin:hunter2@db");
  },
});

it("keeps what a tool's own schema throws from a caller without a token", async () => {
  const inputSchema = z.any().refine(() => {
    throw new Error("postgres://admin:hunter2@db");
  });
  const checks = createTool({ id: "checks", description: "", inputSchema, execute: async () => 1 });
  const { url } = await hosted({ tools: { checks } });
  const tools = await client({ a: { url } }).getTools();
  expect(textOf(await tools["a_checks"]!.execute({}))).toMatch(
    /^Tool "checks" failed for an internal reason/,
  );
});

it("gives a caller without a token a reference instead of an error's text, over SSE as over streamable HTTP", async () => {
  const early = await hostSse(server({ tools: { fail } }));
  open(early.close);
  const { url } = await hosted({ tools: { fail } });
  const servers = {
    early: { url: early.url },
    older: { url, protocolVersion: "2025-11-25" as const },
    newer: { url, protocolVersion: "2026-07-28" as const },
  };
  const tools = await client(servers).getTools();
  for (const name of Object.keys(servers))
    expect(textOf(await tools[`${name}_fail`]!.execute({}))).toMatch(
      /^Tool "fail" failed for an internal reason \(reference /,
    );
});

it("keeps the errors of an agent's own tools from a caller without a token", async () => {
  const model = scriptedModel([{ toolCalls: [{ toolName: "fail", input: {} }] }, "It did not work."]);
  const agent = new Agent({
    name: "helper",
    description: "Helps.",
    instructions: "",
    model,
    tools: { fail },
  });
  const { url } = await hosted({ agents: { helper: agent } });
  const tools = await client({ a: { url } }).getTools();
  const answer = textOf(await tools["a_ask_helper"]!.execute({ context: { message: "Go." } }));
  expect(answer).toContain("It did not work.");
  expect(answer).not.toContain("hunter2");
});

it("shows the process that started this one the text of an error thrown on purpose", async () => {
  const stdio = { command: process.execPath, args: ["--conditions=selvedge-source", CHILD, "/dev/null"] };
  const tools = await client({ a: stdio }).getTools();
  expect(textOf(await tools["a_refuse"]!.execute({}))).toBe("No such city.");
});
