import { Mastra } from "@selvedge/core";
import { Agent } from "@selvedge/core/agent";
import { createTool } from "@selvedge/core/tools";
import { scriptedModel } from "@selvedge/testing";
import { InMemorySpanExporter } from "@opentelemetry/sdk-trace";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { CloudExporter, Observability, type ObservabilityConfig, SensitiveDataFilter } from "./index.ts";

async function traced(config: Partial<ObservabilityConfig> = {}) {
  const exporter = new InMemorySpanExporter();
  const observability = new Observability({
    configs: { default: { serviceName: "shop", exporters: [exporter], ...config } },
  });
  const login = createTool({
    id: "login",
    description: "",
    inputSchema: z.object({ user: z.string(), password: z.string() }),
    execute: async () => "ok",
  });
  const input = { user: "ann", password: "hunter2" };
  const model = scriptedModel([{ toolCalls: [{ toolName: "login", input }] }, "done"]);
  const agent = new Agent({ name: "a", instructions: "", model, tools: { login } });
  const mastra = new Mastra({ agents: { agent }, observability });
  const { traceId } = await mastra.getAgent("agent").generate("hi");
  await observability.flush();
  const spans = exporter.getFinishedSpans();
  return { mastra, spans, traceId, text: JSON.stringify(spans.map((span) => span.attributes)) };
}

describe("Observability", () => {
  it("traces the runs of a host under its service's name", async () => {
    const { mastra, spans, traceId } = await traced();
    expect(spans.length).toBeGreaterThan(2);
    expect(new Set(spans.map((span) => span.spanContext().traceId))).toEqual(new Set([traceId]));
    expect(spans[0]!.resource.attributes["service.name"]).toBe("shop");
    await mastra.close();
  });

  it("redacts passwords, also inside JSON", async () => {
    const { text } = await traced();
    expect(text).toContain("ann");
    expect(text).not.toContain("hunter2");
    expect(text).toContain("[REDACTED]");
  });

  it("redacts the fields an app names", async () => {
    const filter = new SensitiveDataFilter({ sensitiveFields: ["user"], redactionToken: "…" });
    const { text } = await traced({ spanOutputProcessors: [filter] });
    expect(text).not.toContain("ann");
    expect(text).toContain("hunter2");
  });

  it("samples", async () => {
    expect((await traced({ sampling: { type: "never" } })).spans).toEqual([]);
    await expect(traced({ sampling: { type: "ratio", probability: 2 } })).rejects.toThrow(
      /from 0 to 1, got 2/,
    );
  });

  it("says once that an exporter of another platform does nothing", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const { spans } = await traced({ exporters: [new CloudExporter()] });
    expect(spans).toEqual([]);
    expect(warn.mock.calls).toEqual([
      [expect.stringMatching(/^\[selvedge\] CloudExporter does nothing here/)],
    ]);
    vi.restoreAllMocks();
  });
});
