import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { CHAT_COMMANDS, CHAT_KEYS } from "./chat/chat-commands.ts";
import { type CliCommand, COMMANDS } from "./commands.ts";
import { main } from "./main.ts";

const PAGE = fileURLToPath(new URL("../../../docs/cli.md", import.meta.url));

const nameOf = ({ usage }: CliCommand): string => usage.split(" ")[0]!;

function listOf(commands: readonly CliCommand[]): string {
  const rows = commands.map(
    ({ usage, summary }) => `| \`selvedge ${usage}\` | ${summary.replace(/\.$/, "")} |`,
  );
  return ["| Command | Effect |", "| --- | --- |", ...rows].join("\n");
}

function tableOf({ options }: CliCommand): string {
  const rows = options.map(([flags, meaning, byDefault]) => {
    const end = byDefault === undefined ? "" : `; by default \`${byDefault}\``;
    return `| \`${flags}\` | ${meaning}${end} |`;
  });
  return ["| Option | Meaning |", "| --- | --- |", ...rows].join("\n");
}

function inputsOfChat(): string {
  const commands = CHAT_COMMANDS.map(({ name, usage, summary }): [string, string] => [
    `\`${`/${name} ${usage}`.trim()}\``.replaceAll("|", "\\|"),
    summary,
  ]);
  const rows = [...CHAT_KEYS, ...commands].map(([input, effect]) => `| ${input} | ${effect} |`);
  return ["| Input | Effect |", "| --- | --- |", ...rows].join("\n");
}

/** The page with the tables between its marks as the commands have them now. */
function withTables(page: string): string {
  const seen = new Set<string>();
  const text = page.replaceAll(
    /(<!-- table: ([\w ]+) -->\n\n)[\s\S]*?(\n\n<!-- end -->)/g,
    (_, start: string, name: string, end: string) => {
      seen.add(name);
      const found = COMMANDS.find((command) => nameOf(command) === name);
      if (found) return start + tableOf(found) + end;
      if (name === "commands") return start + listOf(COMMANDS) + end;
      if (name === "chat inputs") return start + inputsOfChat() + end;
      throw new Error(`docs/cli.md has a table of "${name}", which is not a command.`);
    },
  );
  const missing = COMMANDS.map(nameOf).filter((name) => !seen.has(name));
  if (missing.length > 0) throw new Error(`docs/cli.md has no table of: ${missing.join(", ")}.`);
  return text;
}

async function run(...args: string[]): Promise<{ code: number; output: string }> {
  let output = "";
  const stream = { write: (text: string) => (output += text) };
  const code = await main(["node", "selvedge", ...args], { stdout: stream, stderr: stream });
  return { code, output };
}

describe("the command line", () => {
  it("has its commands and options in docs/cli.md; `npx vitest run commands.test.ts -u` writes them", async () => {
    await expect(withTables(readFileSync(PAGE, "utf8"))).toMatchFileSnapshot(PAGE);
  });

  it("lists every command in its help", async () => {
    const { code, output } = await run("--help");
    expect(code).toBe(0);
    for (const { usage } of COMMANDS) expect(output).toContain(usage.split(" ").at(-1));
    for (const command of COMMANDS) expect(output).toMatch(new RegExp(`^  ${nameOf(command)} `, "m"));
  });

  it.each(COMMANDS)("shows options, defaults and notes in the help of $usage", async (command) => {
    const { code, output } = await run(nameOf(command), "--help");
    expect(code).toBe(0);
    const plain = output.replaceAll(/\s+/g, " ");
    expect(plain).toContain(command.summary);
    expect(output).toContain(command.help ?? "");
    for (const [flags, meaning, byDefault] of command.options) {
      expect(plain).toContain(
        `${flags} ${meaning}${byDefault === undefined ? "" : ` (default: "${byDefault}")`}`,
      );
    }
  });

  it("suggests the command that was meant", async () => {
    const { code, output } = await run("cht");
    expect(code).toBe(1);
    expect(output).toContain("Did you mean chat?");
  });

  it("suggests the option that was meant", async () => {
    expect((await run("chat", "--modle", "x")).output).toContain("Did you mean --model?");
  });
});
