import { readFileSync } from "node:fs";
import { errorMessage } from "@selvedge/core/errors";
import { Command, CommanderError } from "commander";
import { printable } from "./chat/printable.ts";
import { COMMANDS } from "./commands.ts";

const HELP_OPTION = ["-h, --help", "show this help"] as const;

interface Output {
  write(text: string): unknown;
}

/** Runs the command line. Help and usage errors go to the given streams. Returns the exit code. */
export async function main(
  argv: readonly string[],
  { stdout, stderr }: { stdout: Output; stderr: Output } = process,
): Promise<number> {
  let exitCode = 0;
  const program = new Command("selvedge")
    .description("Build, serve and talk to agents with durable threads.")
    .version(version(), "-v, --version", "show the version")
    .helpOption(...HELP_OPTION)
    .helpCommand("help [command]", "show the help of a command")
    .showHelpAfterError("Add --help to see the usage.")
    .configureOutput({ writeOut: (text) => stdout.write(text), writeErr: (text) => stderr.write(text) })
    .exitOverride();
  for (const { usage, summary, options, help, run } of COMMANDS) {
    const command = program
      .command(usage)
      .description(summary)
      .helpOption(...HELP_OPTION);
    for (const option of options) command.option(...option);
    if (help) command.addHelpText("after", `\n${help}`);
    command.action(async () => {
      exitCode = await run(command.args, command.opts());
    });
  }
  const badUse = COMMANDS.find(({ usage }) => usage.split(" ")[0] === argv[2])?.badUse ?? 1;
  try {
    await program.parseAsync(argv);
    return exitCode;
  } catch (error) {
    // Commander has already printed the error, or the help that was asked for.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : badUse;
    stderr.write(`selvedge: ${printable(errorMessage(error))}\n`);
    return badUse;
  }
}

function version(): string {
  const manifest = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}
