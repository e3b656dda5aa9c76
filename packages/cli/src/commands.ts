import type { AskFlags } from "./ask-command.ts";
import type { BuildFlags } from "./build-command.ts";
import type { ChatFlags } from "./chat-command.ts";
import type { CodeFlags } from "./code-command.ts";
import type { CompactFlags } from "./compact-command.ts";
import type { CreateFlags } from "./create-command.ts";
import type { DevFlags } from "./dev-command.ts";
import type { DoctorFlags } from "./doctor-command.ts";
import type { IndexFlags } from "./index-command.ts";
import type { MoveFlags } from "./move-command.ts";
import type { StartFlags } from "./start-command.ts";
import type { WorkflowFlags } from "./workflow-command.ts";

export interface CliCommand<Flags extends object = object> {
  /** The name and the arguments, as commander writes them: `<required>`, `[optional]`, `<many...>`. */
  readonly usage: string;
  readonly summary: string;
  /** Flags, meaning and, if there is one, the default. `docs/cli.md` shows the same table. */
  readonly options: readonly CliOption[];
  /** Shown below the options. */
  readonly help?: string;
  /** The exit code for wrong arguments, where 1 means something else. */
  readonly badUse?: number;
  /** Loads the command on first use, so that `--help` stays fast. Returns the exit code. */
  run(args: readonly string[], flags: Flags): Promise<number>;
}

type CliOption = readonly [flags: string, meaning: string, byDefault?: string];

const MODEL_HELP = `The model is the first of these that is available: --model, SELVEDGE_MODEL, a model of the first
provider whose key is set (OPENAI_API_KEY, ANTHROPIC_API_KEY, …), a model that ollama or LM Studio
serves on this machine, or a scripted demo model.`;

const MODEL: CliOption = ["-m, --model <provider/model>", 'the model, or "demo" for the scripted one'];
const STORAGE: CliOption = [
  "-s, --storage <file>",
  "the file that stores conversations",
  ".selvedge/chat.db",
];
const DATABASE: CliOption = ["-d, --database <file>", "the file that stores the index", ".selvedge/index.db"];
const INDEX_NAME: CliOption = ["-n, --name <name>", "the name of the index", "docs"];
const NO_COLOR: CliOption = ["--no-color", "plain text; NO_COLOR does the same"];

/** Every command. Help texts, hints for misspelt names and the tables in `docs/cli.md` come from here. */
export const COMMANDS: readonly CliCommand[] = [
  command<DevFlags>({
    usage: "dev [entry]",
    summary: "Serve a project and its studio, and restart when its files change.",
    options: [
      ["-p, --port <number>", "the port; by default 4111, or the next free port"],
      ["--host <address>", "the address to listen on, which must be loopback", "127.0.0.1"],
      MODEL,
      STORAGE,
      NO_COLOR,
    ],
    help: `The entry is the module that exports \`mastra\`, by default src/mastra/index.ts or a similar path.
Without a project, a demo agent is served. --model and --storage apply to it.

${MODEL_HELP}`,
    run: async ([entry], flags) => (await import("./dev-command.ts")).runDevCommand(entry, flags),
  }),
  command<BuildFlags>({
    usage: "build [entry]",
    summary: "Write a folder that serves the project with plain Node.",
    options: [
      ["-o, --output <folder>", "the folder, replaced if it is from an earlier build", ".selvedge/output"],
      NO_COLOR,
    ],
    help: `The folder contains the project's code without types, a package.json with the packages it needs,
and start.mjs. .env is not copied.

  selvedge build
  cd .selvedge/output && npm install && node start.mjs`,
    run: async ([entry], flags) => (await import("./build-command.ts")).runBuildCommand(entry, flags),
  }),
  command<StartFlags>({
    usage: "start [folder]",
    summary: "Serve a built folder or a project, without the studio and without watching.",
    options: [
      ["-p, --port <number>", "the port; by default PORT, or the project's port"],
      ["--host <address>", "the address to listen on; by default HOST, or the project's host"],
    ],
    help: `The project sets its port and host in the \`server\` option of new Mastra(). The defaults are 4111 and
127.0.0.1. An address that other machines can reach requires \`server.auth\`. SIGTERM closes the server,
then the host.`,
    run: async ([folder = "."], flags) => (await import("./start-command.ts")).runStartCommand(folder, flags),
  }),
  command<DoctorFlags>({
    usage: "doctor [folder]",
    summary: "Check a Mastra project: show what works, what differs and what is missing.",
    options: [["--json", "print one JSON object"], NO_COLOR],
    help: `Reads package.json and the source files without running them. The exit code is 1 if something is
missing, and 2 if there is no project to read.`,
    badUse: 2,
    run: async ([folder = "."], flags) =>
      (await import("./doctor-command.ts")).runDoctorCommand(folder, flags),
  }),
  command<CreateFlags>({
    usage: "create <name>",
    summary: "Create a small project in a new folder.",
    options: [NO_COLOR],
    run: async ([name = ""], flags) => (await import("./create-command.ts")).runCreateCommand(name, flags),
  }),
  command<ChatFlags>({
    usage: "chat",
    summary: "Talk to an agent in the terminal.",
    options: [
      MODEL,
      STORAGE,
      ["-t, --thread <id>", "the conversation to continue; by default the session's current one"],
      ["--session <id>", "the session to open; by default the resource's own session"],
      ["-u, --url <url>", "talk to an agent on this server. Without it, the agent runs in this process"],
      ["-d, --dev", "talk to the server that `selvedge dev` runs in this folder"],
      ["-a, --agent <id>", "the controller or agent to talk to; by default the first one"],
      ["--token <token>", "sent to the server as a bearer token; by default SELVEDGE_TOKEN"],
      ["-r, --resource <id>", "the resource to act for, unless the server decides it", "local"],
      ["--plain", "lines of text without escape sequences, for screen readers"],
      NO_COLOR,
    ],
    help: `Without --url and --dev, the agent runs in this process: the agent of the project in this folder, or
a demo agent. --model selects the demo agent. --model and --storage apply only to it.

${MODEL_HELP}`,
    run: async (_, flags) => (await import("./chat-command.ts")).runChatCommand(flags),
  }),
  command<CodeFlags>({
    usage: "code [folder]",
    summary: "Work on a folder with a coding agent in the terminal.",
    options: [MODEL, ["--plain", "lines of text without escape sequences, for screen readers"], NO_COLOR],
    help: `By default, the agent works on the current folder. The first time, you are asked whether you trust it.
Until you do, the agent only reads. After that, it asks before each change, with a diff, and before
each command. /changes lists its changes, and /undo reverts them. The conversation is stored in
.selvedge in the folder and continues next time.

${MODEL_HELP}`,
    run: async ([folder = "."], flags) => (await import("./code-command.ts")).runCodeCommand(folder, flags),
  }),
  command<WorkflowFlags>({
    usage: "workflow <action> [names...]",
    summary: "List workflows and their runs; start, resume and cancel runs.",
    options: [
      ["-i, --input <json>", "run: the input"],
      ["--run <id>", "run: the id of the new run"],
      ["-d, --data <json>", "resume: the data that the step waits for"],
      ["--step <id>", "resume: the step, if several wait; a nested step as workflow.step"],
      ["--label <label>", "resume: the label of the suspension, instead of a step"],
      ["--status <status>", "runs: only runs with this status"],
      ["--limit <number>", "runs: how many to list", "20"],
      ["-u, --url <url>", "use this server. Without it, the project in this folder is loaded"],
      ["--dev", "use the server that `selvedge dev` runs in this folder"],
      ["--token <token>", "sent to the server as a bearer token; by default SELVEDGE_TOKEN"],
      ["-r, --resource <id>", "the owner of a new run; runs: only runs of this owner"],
      ["--json", "print JSON: one object per line, or the whole run"],
      NO_COLOR,
    ],
    help: `  selvedge workflow list
  selvedge workflow run <workflow> --input '{"order": 7}'
  selvedge workflow runs [workflow]
  selvedge workflow resume <workflow> <run> --data '{"approved": true}'
  selvedge workflow cancel <workflow> <run>

run and resume show each step as it ends, and print the result when the run ends or waits. The exit
code is 0 if the run succeeded, 1 if it failed, and 3 if it waits for a person. Runs are stored. After
Ctrl-C, a run on a server continues there; a run of this process continues when the project is served.`,
    run: async (args, flags) => (await import("./workflow-command.ts")).runWorkflowCommand(args, flags),
  }),
  command<IndexFlags>({
    usage: "index <folder>",
    summary: "Index the documents in a folder, so that you can ask questions about them.",
    options: [
      DATABASE,
      INDEX_NAME,
      ["--size <characters>", "the maximum size of a passage", "800"],
      ["--overlap <characters>", "how much neighbouring passages share", "100"],
      ["--threads <number>", "embedding threads, up to 16 and 280 MB each; by default one per core, up to 4"],
      ["--all", "also read ignored and hidden files, dependencies and build output"],
      ["--fresh", "start from scratch"],
      ["--replace", "replace the folder that the index contains"],
      NO_COLOR,
    ],
    help: `Reads text, Markdown, HTML and source code. Skips hidden files, dependencies, build output and files
ignored by .gitignore; --all reads these too. Never reads links, binary files or files above 2 MB.
Run it again after changes: only changed files are read, and an interrupted run continues where it
stopped. Works offline, without a key. An index belongs to one folder: use another --name for
another folder, or --replace the first.

  selvedge index docs
  selvedge ask "Who may approve a tool call?"`,
    run: async ([folder = ""], flags) => (await import("./index-command.ts")).runIndexCommand(folder, flags),
  }),
  command<AskFlags>({
    usage: "ask <question...>",
    summary: "Find the passages in an indexed folder that answer a question.",
    options: [
      DATABASE,
      INDEX_NAME,
      ["-k, --top <number>", "how many passages to print", "5"],
      ["--by <what>", "what to search by: meaning, words or both", "both"],
      ["--json", "print one JSON object per passage"],
      NO_COLOR,
    ],
    help: `Compare scores only within one result. They are at most 1, except with --by words.

  selvedge ask "Who may approve a tool call?" --top 3
  selvedge ask retries --by words --json`,
    run: async (words, flags) => (await import("./ask-command.ts")).runAskCommand(words.join(" "), flags),
  }),
  command<CompactFlags>({
    usage: "compact",
    summary: "Delete old stream chunks and ended runs from a store's file, and free the disk space.",
    options: [STORAGE, ["--older-than <age>", "the minimum age, such as 90m, 12h or 7d", "1h"]],
    help: `Keeps messages, threads and unfinished work. Rewriting the file needs as much free disk space as the
file itself, and programs that use the file wait until it is done.`,
    run: async (_, flags) => (await import("./compact-command.ts")).runCompactCommand(flags),
  }),
  command<MoveFlags>({
    usage: "move",
    summary: "Copy a store's file into PostgreSQL, and compare every row.",
    options: [
      ["--from <file>", "the file that stores conversations", ".selvedge/chat.db"],
      ["--to <url>", "the database, such as postgresql://user:password@host:5432/app"],
      ["--schema <name>", "an empty schema, created if absent", "public"],
    ],
    help: `Stop all programs that use the file first. The file is not changed. If anything fails, the schema is
left empty.`,
    run: async (_, flags) => (await import("./move-command.ts")).runMoveCommand(flags),
  }),
];

function command<Flags extends object>(entry: CliCommand<Flags>): CliCommand<Flags> {
  return entry;
}
