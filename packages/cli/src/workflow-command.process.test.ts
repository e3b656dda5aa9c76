import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { RunningCommand } from "./__fixtures__/running-command.ts";

const MODULES = fileURLToPath(new URL("../../../node_modules", import.meta.url));

const PROJECT = `import { Mastra } from "@selvedge/core";
import { createStep, createWorkflow } from "@selvedge/core/workflows";
import { LibSQLStore } from "@selvedge/libsql";
import { z } from "zod";

const order = z.object({ order: z.string() });
const approval = z.object({ approved: z.boolean() });
const find = createStep({
  id: "find",
  inputSchema: order,
  outputSchema: order,
  execute: async ({ inputData }) => {
    if (inputData.order === "none") throw new Error("There is no such order.");
    return inputData;
  },
});
const approve = createStep({
  id: "approve",
  inputSchema: order,
  outputSchema: approval,
  resumeSchema: approval,
  suspendSchema: order,
  execute: async ({ inputData, resumeData, suspend }) => resumeData ?? suspend(inputData),
});
const refund = createWorkflow({
  id: "refund",
  description: "Refunds an order.",
  inputSchema: order,
  outputSchema: approval,
})
  .then(find)
  .then(approve)
  .commit();

export const mastra = new Mastra({
  workflows: { refund },
  storage: new LibSQLStore({ url: "file:runs.db" }),
  server: { port: 0 },
});
`;

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "selvedge-workflow-"));
  await symlink(MODULES, join(folder, "node_modules"));
  const files = { "package.json": '{ "type": "module" }', "src/mastra/index.ts": PROJECT };
  for (const [file, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), text);
  }
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function workflow(...args: string[]): Promise<{ code: number | null; output: string }> {
  const command = new RunningCommand(["workflow", ...args], { cwd: folder });
  return { code: await command.exitCode(), output: command.output };
}

const INPUT = '{"order":"o-1"}';
const DATA = '{"approved":true}';

describe("selvedge workflow", () => {
  // Six processes, one after the other.
  const timeout = 600_000;

  it(
    "runs a workflow of the project until it waits, and resumes it in another process",
    { timeout },
    async () => {
      const first = await workflow("run", "refund", "--input", INPUT, "--run", "r-1");
      expect(first.output).toMatch(/Run r-1\n✓ find \d+ ms\n◆ approve waits \{"order":"o-1"\}/);
      expect(first.output).toContain(
        `The run waits. Continue with:\n  selvedge workflow resume refund r-1 --step approve --data '{"approved":true}'\n`,
      );
      expect(first.code).toBe(3);
      const list = await workflow("list");
      expect(list).toEqual({ code: 0, output: "refund  1 waiting\n  Refunds an order.\n" });
      const second = await workflow("resume", "refund", "r-1", "--data", DATA);
      expect(second.output).toMatch(/✓ approve/);
      expect(second.output).toContain('{\n  "approved": true\n}');
      expect(second.code).toBe(0);
      const again = await workflow("resume", "refund", "r-1", "--data", DATA);
      expect(again).toEqual({ code: 1, output: 'selvedge: No step of run "r-1" waits: it is success.\n' });
      const { output } = await workflow("runs", "refund", "--json");
      expect(JSON.parse(output)).toMatchObject({ runId: "r-1", status: "success" });
      expect((await workflow("runs")).output).toMatch(/^refund {2}r-1 {2}success {4}\S+\n$/);
      expect(await workflow("cancel", "refund", "r-1")).toEqual({
        code: 1,
        output: "Run r-1 has already ended: success.\n",
      });
    },
  );

  it("uses a server, and cancels a run there", { tags: ["long"] }, async () => {
    const server = new RunningCommand(["start"], { cwd: folder });
    onTestFinished(() => server.stop());
    const url = await server.url();
    const run = await workflow("run", "refund", "--input", INPUT, "--run", "r-2", "--url", url);
    expect(run.code).toBe(3);
    expect(run.output).toContain(`--data '{"approved":true}' --url ${url}`);
    expect(await workflow("cancel", "refund", "r-2", "--url", url)).toEqual({
      code: 0,
      output: "Workflow run canceled\n",
    });
    const { output } = await workflow("runs", "refund", "--status", "canceled", "--url", url);
    expect(output).toMatch(/^r-2 {2}canceled/);
    expect(await workflow("runs", "refund", "--status", "tripwire", "--url", url)).toEqual({
      code: 0,
      output: "No run is tripwire.\n",
    });
  });

  it("says why a run failed", { tags: ["long"] }, async () => {
    const { code, output } = await workflow("run", "refund", "--input", '{"order":"none"}');
    expect(output).toMatch(
      /✗ find .*\n {2}There is no such order\.\nThe run ended as failed: There is no such order\./,
    );
    expect(code).toBe(1);
  });

  it("says what is wrong with its arguments", { tags: ["long"] }, async () => {
    const cases: [string[], RegExp][] = [
      [["fly"], /There is no action "fly"\. Use list, run, runs, resume, cancel\./],
      [["runs", "refund", "r-1"], /Write: selvedge workflow runs \[workflow\]/],
      [["run"], /Write: selvedge workflow run <workflow>/],
      [["resume", "refund"], /Write: selvedge workflow resume <workflow> <run>/],
      [["run", "refund", "--input", "{order: 1}"], /--input must be JSON/],
      [["run", "none", "--input", INPUT], /There is no workflow "none"/],
      [
        ["run", "refund", "--input", '{"order":7}'],
        /order.*\nFor example: selvedge workflow run refund --input '\{"order":"…"\}'/,
      ],
      [["run", "refund"], /For example: selvedge workflow run refund --input '\{"order":"…"\}'/],
      [["resume", "refund", "none", "--data", DATA], /There is no run "none" of workflow "refund"/],
      [["runs", "refund", "--status", "lost"], /--status must be one of pending, running/],
      [["list", "--url", "ftp://x"], /--url must be an address/],
    ];
    for (const [args, message] of cases) {
      const { code, output } = await workflow(...args);
      expect([code, output]).toEqual([1, expect.stringMatching(message)]);
    }
  });
});
