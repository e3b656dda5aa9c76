import type { Command } from "commander";
import type { AskFlags } from "./ask-command.ts";
import type { IndexFlags } from "./index-command.ts";

const DATABASE = ".selvedge/index.db";

/** Adds `index` and `ask`. Their code is loaded only when one of them runs. */
export function addRagCommands(program: Command, setExitCode: (code: number) => void): void {
  program
    .command("index")
    .description("Read a folder, so that questions about it can be answered.")
    .argument("<folder>", "the folder with the documents")
    .option("-d, --database <file>", "where the index is kept", DATABASE)
    .option("-n, --name <name>", "the name of the index", "docs")
    .option("--size <characters>", "the most a passage may hold", "800")
    .option("--overlap <characters>", "how much neighbouring passages share", "100")
    .option(
      "--threads <number>",
      "how many threads embed, up to 280 MB each (default: as many as cores, up to 4)",
    )
    .option("--all", "also what .gitignore files name, hidden files, dependencies and build output")
    .option("--fresh", "start from nothing")
    .option("--replace", "give up the folder that the index holds")
    .option("--no-color", "plain text")
    .addHelpText("after", INDEX_HELP)
    .action(async (folder: string, flags: IndexFlags) => {
      const { runIndexCommand } = await import("./index-command.ts");
      setExitCode(await runIndexCommand(folder, flags));
    });
  program
    .command("ask")
    .description("Find the passages of an indexed folder that answer a question.")
    .argument("<question...>", "the question, in your own words")
    .option("-d, --database <file>", "where the index is kept", DATABASE)
    .option("-n, --name <name>", "the name of the index", "docs")
    .option("-k, --top <number>", "how many passages", "5")
    .option("--by <what>", "meaning, words or both", "both")
    .option("--json", "print one JSON object for each passage")
    .option("--no-color", "plain text")
    .addHelpText("after", ASK_HELP)
    .action(async (question: string[], flags: AskFlags) => {
      const { runAskCommand } = await import("./ask-command.ts");
      setExitCode(await runAskCommand(question.join(" "), flags));
    });
}

const INDEX_HELP = `
Reads text, Markdown, HTML and source code; leaves out what .gitignore files name, hidden files,
dependencies and build output (--all reads those too), and always links, binary files and files
above 2 MB. Run it again after changes: only what changed is read anew, and a run that was
interrupted goes on where it stopped. Works offline, without a key.
An index is of one folder: give another folder another --name, or --replace the first.

  selvedge index docs
  selvedge ask "How do I resume a run?"`;

const ASK_HELP = `
Scores compare within one answer only. They are at most 1, except with --by words.

  selvedge ask "How do I resume a run?" --top 3
  selvedge ask retries --by words --json`;
