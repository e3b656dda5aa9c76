import { readFileSync } from "node:fs";
import { errorMessage } from "@selvedge/core/errors";
import { Command, CommanderError } from "commander";
import type { ChatFlags } from "./chat-command.ts";
import { addRagCommands } from "./rag-commands.ts";

/** Runs the command line and answers the exit code. */
export async function main(argv: readonly string[]): Promise<number> {
  let exitCode = 0;
  const program = new Command("selvedge")
    .description("Agents whose threads do not unravel.")
    .version(version())
    .exitOverride();
  program
    .command("chat")
    .description("Talk to an agent in the terminal.")
    .option("-m, --model <provider/model>", 'the model, or "demo" for the scripted one')
    .option("-t, --thread <id>", "the conversation to go on with; the last one when absent")
    .option("-s, --storage <file>", "where conversations are kept", ".selvedge/chat.db")
    .option("--no-color", "plain text")
    .addHelpText("after", MODEL_HELP)
    .action(async (flags: ChatFlags) => {
      // Loaded only now, so that --help and --version answer at once.
      const { runChatCommand } = await import("./chat-command.ts");
      exitCode = await runChatCommand(flags);
    });
  addRagCommands(program, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync(argv);
    return exitCode;
  } catch (error) {
    // Commander has said what is wrong, or shown the help that was asked for.
    if (error instanceof CommanderError) return error.exitCode;
    console.error(`selvedge: ${errorMessage(error)}`);
    return 1;
  }
}

const MODEL_HELP = `
The model is --model, else SELVEDGE_MODEL, else that of the first provider whose key is set
(OPENAI_API_KEY, ANTHROPIC_API_KEY, …), else one that ollama or LM Studio serves on this
machine, else a scripted demo model.`;

function version(): string {
  const manifest = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}
