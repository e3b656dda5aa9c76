import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";

const CORE = join(import.meta.dirname, "../../..");
const ROOT = join(CORE, "../..");

/** Compiles a program that uses the public types, as a user's compiler would. */
async function compile(source: string): Promise<string> {
  await mkdir(join(CORE, "tmp"), { recursive: true });
  const folder = await mkdtemp(join(CORE, "tmp", "compile-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, "program.ts"), source);
  const config = { extends: join(ROOT, "tsconfig.check.json"), include: ["program.ts"], exclude: [] };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
  const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
  const child = spawn(process.execPath, [tsc, "-p", folder, "--extendedDiagnostics", "--singleThreaded"]);
  const output = await Array.fromAsync(child.stdout, String);
  return output.join("");
}

const STEPS = `
import { createStep, createWorkflow } from "@selvedge/core/workflows";
import { z } from "zod";
const text = z.object({ s: z.string() });
const number = z.object({ n: z.number() });
const toNumber = createStep({ id: "to-number", inputSchema: text, outputSchema: number, execute: async () => ({ n: 1 }) });
const toText = createStep({ id: "to-text", inputSchema: number, outputSchema: text, execute: async () => ({ s: "" }) });
const flow = () => createWorkflow({ id: "f", inputSchema: text, outputSchema: z.any() });
`;

/** A chain of steps that alternate between two types. */
function chain(length: number): string {
  const steps = Array.from({ length }, (_, index) => {
    const [from, to] = index % 2 === 0 ? ["text", "number"] : ["number", "text"];
    const result = to === "number" ? "n: inputData.s.length" : "s: String(inputData.n)";
    return `.then(createStep({ id: "s${index}", inputSchema: ${from}, outputSchema: ${to}, execute: async ({ inputData }) => ({ ${result} }) }))`;
  });
  return `${STEPS}\nexport const result = flow()\n  ${steps.join("\n  ")}\n  .commit();\n`;
}

describe("the compiler", () => {
  it.each([
    ["then", "flow().then(toText);"],
    ["parallel", "flow().parallel([toNumber, toText]);"],
    ["branch", "flow().branch([[async () => true, toText]]);"],
    ["dountil", "flow().dountil(toText, async () => true);"],
  ])("names both types where a step does not fit: %s", async (_, line) => {
    const output = await compile(`${STEPS}\n${line}\n`);
    expect(output).toContain("This step does not accept the output of the previous one");
    expect(output).toContain("InputMismatch<{ s: string; }, { n: number; }>");
  });

  it("needs work that grows with the steps of a workflow, not faster", async () => {
    const work = async (length: number): Promise<number> => {
      const output = await compile(chain(length));
      expect(output).not.toContain("error TS");
      return Number(/Instantiations:\s+(\d+)/.exec(output)![1]);
    };
    const [none, twenty, forty] = [await work(0), await work(20), await work(40)];
    expect(forty - none).toBeLessThan(2.5 * (twenty - none));
  });
});
