import { readFileSync } from "node:fs";
import { errorMessage } from "@selvedge/core/errors";
import { Command, CommanderError } from "commander";
import type { ChatFlags } from "./chat-command.ts";
import type { CompactFlags } from "./compact-command.ts";
import type { CreateFlags } from "./create-command.ts";
import type { DevFlags } from "./dev-command.ts";
import { addRagCommands } from "./rag-commands.ts";

interface CommandEntry {
  /** With its arguments, as commander writes them. */
  usage: string;
  description: string;
  options: readonly [flags: string, description: string, byDefault?: string][];
  help?: string;
  /** Loads the command only now, so that --help and --version answer at once. Answers the exit code. */
  run(argument: string | undefined, flags: object): Promise<number>;
}

const MODEL_HELP = `
The model is --model, else SELVEDGE_MODEL, else that of the first provider whose key is set
(OPENAI_API_KEY, ANTHROPIC_API_KEY, …), else one that ollama or LM Studio serves on this
machine, else a scripted demo model.`;

const MODEL_OPTION = ["-m, --model <provider/model>", 'the model, or "demo" for the scripted one'] as const;
const STORAGE_OPTION = ["-s, --storage <file>", "where conversations are kept", ".selvedge/chat.db"] as const;
const COLOR_OPTION = ["--no-color", "plain text"] as const;

const COMMANDS: readonly CommandEntry[] = [
  {
    usage: "dev [entry]",
    description: "Serve a project and its studio; start anew when its files change.",
    options: [
      ["-p, --port <number>", "the port; 4111 or the next free one when absent"],
      ["--host <address>", "the address to listen on", "127.0.0.1"],
      [...MODEL_OPTION],
      [...STORAGE_OPTION],
      [...COLOR_OPTION],
    ],
    help: `
The entry is the module that exports \`mastra\`: src/mastra/index.ts or one of its kin when absent.
Without a project a demo agent is served, with --model and --storage.
${MODEL_HELP}`,
    run: async (entry, flags) => (await import("./dev-command.ts")).runDevCommand(entry, flags as DevFlags),
  },
  {
    usage: "create <name>",
    description: "Write a small project into a new folder.",
    options: [[...COLOR_OPTION]],
    run: async (name, flags) =>
      (await import("./create-command.ts")).runCreateCommand(name ?? "", flags as CreateFlags),
  },
  {
    usage: "chat",
    description: "Talk to an agent in the terminal.",
    options: [
      [...MODEL_OPTION],
      ["-t, --thread <id>", "the conversation to go on with; the last one when absent"],
      [...STORAGE_OPTION],
      ["-u, --url <url>", "talk to an agent of this server instead"],
      ["-d, --dev", "the same, of the server that `selvedge dev` runs in this folder"],
      ["-a, --agent <id>", "which agent of the server; its first one with a memory when absent"],
      ["--token <token>", "sent to the server as a bearer token; SELVEDGE_TOKEN when absent"],
      ["-r, --resource <id>", "on whose behalf; a server with an authoriser decides it itself", "local"],
      [...COLOR_OPTION],
    ],
    help: MODEL_HELP,
    run: async (_, flags) => (await import("./chat-command.ts")).runChatCommand(flags as ChatFlags),
  },
  {
    usage: "compact",
    description: "Delete old stream chunks and ended runs from a store, and give the space back.",
    options: [[...STORAGE_OPTION], ["--older-than <age>", "what to delete, such as 90m, 12h or 7d", "1h"]],
    help: `
Messages, threads and unfinished work are kept. The file is rewritten, which needs free disk space of
its size; programs that use it wait until that is done.`,
    run: async (_, flags) => (await import("./compact-command.ts")).runCompactCommand(flags as CompactFlags),
  },
];

/** Runs the command line and answers the exit code. */
export async function main(argv: readonly string[]): Promise<number> {
  let exitCode = 0;
  const program = new Command("selvedge")
    .description("Agents whose threads do not unravel.")
    .version(version(), "-v, --version", "show the version")
    .helpOption("-h, --help", "show this help")
    .showHelpAfterError("Add --help to see what it takes.")
    .exitOverride();
  for (const { usage, description, options, help, run } of COMMANDS) {
    const command = program
      .command(usage)
      .description(description)
      .helpOption("-h, --help", "show this help");
    for (const option of options) command.option(...option);
    if (help) command.addHelpText("after", help);
    command.action(async () => {
      exitCode = await run(command.args[0], command.opts());
    });
  }
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

function version(): string {
  const manifest = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}
