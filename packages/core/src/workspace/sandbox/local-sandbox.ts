import { resolve } from "node:path";
import { type InstructionsOption, toInstructions } from "../instructions-option.ts";
import { AgentError, showValue } from "../../errors.ts";
import { defaultLogger, type Logger } from "../../logger.ts";
import { realSystem, type System } from "../../system.ts";
import { FileTree } from "../contained/file-tree.ts";
import { isGrantable } from "../contained/grantable-path.ts";
import { isWithin } from "../contained/parse-path.ts";
import type { ProviderStatus } from "../workspace-filesystem.ts";
import { type Reach, SANDBOX_HOME } from "./bubblewrap.ts";
import { detectIsolation, type DetectedIsolation, isolated, requireIsolation } from "./isolation.ts";
import { LocalProcess } from "./local-process.ts";
import { LocalProcesses } from "./local-processes.ts";
import { findProgram, makeDirectory, makeScratch, realPath, removeScratch } from "./machine.ts";
import { WritablePlaces } from "./writable-places.ts";
import type {
  CommandAccess,
  CommandOptions,
  CommandResult,
  Isolation,
  SandboxInfo,
  SandboxProcessManager,
  SpawnOptions,
  WorkspaceSandbox,
} from "./workspace-sandbox.ts";

export interface NativeSandboxOptions {
  /** Default: false. */
  allowNetwork?: boolean;
  /** Additional paths that commands can read. */
  readOnlyPaths?: string[];
  /** Additional paths that commands can write. */
  readWritePaths?: string[];
  /** Commands cannot write in the working directory. Default: false. */
  readOnly?: boolean;
  /** Additional arguments for bubblewrap. */
  bwrapArgs?: string[];
  /** Replaces the profile for seatbelt. */
  seatbeltProfilePath?: string;
  /** Show the programs of the machine, such as `/usr`, read-only. Default: true. */
  allowSystemBinaries?: boolean;
}

/** Limits on one command. */
export interface CommandLimits {
  /** Seconds of processor time per process. Default: 3,600. */
  cpuSeconds?: number;
  /** Size of a file that it writes. Default: 10 GiB. */
  fileBytes?: number;
  /** Processes at a time, inside an isolation and not for root. Default: 512. */
  processes?: number;
  /** Output after which it is killed. Default: 512 MiB. */
  outputBytes?: number;
}

export interface LocalSandboxOptions {
  id?: string;
  /** Where commands run. Default: `.sandbox` in the directory of the process. */
  workingDirectory?: string;
  /** The environment of commands, besides `PATH`, `HOME`, `LANG`, `TERM` and `CI`. */
  env?: Record<string, string>;
  /** Milliseconds for `executeCommand`. Default: 30,000. */
  timeout?: number;
  /** Default: `"auto"`, which is what works on this machine. */
  isolation?: Isolation | "auto";
  nativeSandbox?: NativeSandboxOptions;
  limits?: CommandLimits;
  /** Replaces the text in the system message. */
  instructions?: InstructionsOption;
  onStart?(): void | Promise<void>;
  onStop?(): void | Promise<void>;
  onDestroy?(): void | Promise<void>;
  /** `false` disables logging. */
  logger?: Logger | false;
  system?: System;
}

const TIMEOUT_MS = 30_000;
const LIMITS: Required<CommandLimits> = {
  cpuSeconds: 3600,
  fileBytes: 10 * 1024 ** 3,
  processes: 512,
  outputBytes: 512 * 1024 ** 2,
};
/** The kernel refuses longer arguments. */
const MAX_COMMAND_BYTES = 100_000;

/** Runs commands on this machine, inside the operating system's sandbox where there is one. */
export class LocalSandbox implements WorkspaceSandbox {
  readonly id: string;
  readonly name = "LocalSandbox";
  readonly provider = "local";
  readonly processes: SandboxProcessManager;
  readonly #options: LocalSandboxOptions;
  readonly #system: System;
  readonly #logger: Logger;
  readonly #limits: Required<CommandLimits>;
  readonly #processes: LocalProcesses;
  #status: ProviderStatus = "pending";
  #started: Promise<Started> | undefined;
  readonly #places: WritablePlaces;

  /** Which isolation works on this machine. */
  static detectIsolation(): Promise<DetectedIsolation> {
    return detectIsolation();
  }

  constructor(options: LocalSandboxOptions = {}) {
    const { isolation = "auto", logger } = options;
    if (!["auto", "none", "bwrap", "seatbelt"].includes(isolation)) {
      throw new AgentError(
        "invalid-argument",
        `isolation must be "auto", "none", "bwrap" or "seatbelt", but got ${showValue(isolation)}.`,
      );
    }
    if (options.timeout !== undefined && !(options.timeout >= 0))
      throw new AgentError(
        "invalid-argument",
        `timeout must be a number of milliseconds, but got ${showValue(options.timeout)}.`,
      );
    this.#options = options;
    this.#system = options.system ?? realSystem;
    this.#logger = logger === false ? { ...defaultLogger, warn: () => {} } : (logger ?? defaultLogger);
    this.#limits = { ...LIMITS, ...options.limits };
    this.#places = new WritablePlaces(this.#system);
    this.id = options.id ?? this.#system.newId();
    this.#processes = new LocalProcesses((command, spawn) => this.#spawn(command, spawn), this.#system);
    this.processes = this.#processes;
  }

  get status(): ProviderStatus {
    return this.#status;
  }

  async start(): Promise<void> {
    await this.#start();
  }

  #start(): Promise<Started> {
    this.#started ??= this.#prepare().catch((error: unknown) => {
      this.#started = undefined;
      this.#status = "error";
      throw error;
    });
    return this.#started;
  }

  async #prepare(): Promise<Started> {
    this.#status = "starting";
    const isolation = await requireIsolation(this.#options.isolation ?? "auto");
    const { nativeSandbox = {}, workingDirectory = ".sandbox" } = this.#options;
    const root = makeDirectory(resolve(workingDirectory));
    const real = (path: string) => realPath(path) ?? resolve(path);
    const started: Started = {
      isolation: isolation.backend,
      limiter: findProgram("prlimit"),
      home: isolation.backend === "bwrap" ? SANDBOX_HOME : makeScratch(),
      reach: {
        workingDirectory: root,
        readOnly: nativeSandbox.readOnly ?? false,
        network: nativeSandbox.allowNetwork ?? false,
        readOnlyPaths: (nativeSandbox.readOnlyPaths ?? []).map(real),
        readWritePaths: (nativeSandbox.readWritePaths ?? []).map(real),
        grantedPaths: [],
        systemBinaries: nativeSandbox.allowSystemBinaries ?? true,
      },
    };
    this.#status = "running";
    const line = `Sandbox ${this.id}: ${describeIsolation(started.isolation, started.reach.network)}`;
    if (started.isolation === "none") this.#logger.warn(`${line} ${isolation.message}`);
    else this.#logger.info(line);
    await this.#options.onStart?.();
    return started;
  }

  /** Ends all processes. */
  async stop(): Promise<void> {
    const started = await this.#started?.catch(() => undefined);
    if (!started) return;
    this.#status = "stopping";
    await this.#processes.killAll();
    this.#started = undefined;
    this.#places.close();
    if (started.home !== SANDBOX_HOME) removeScratch(started.home);
    this.#status = "stopped";
    await this.#options.onStop?.();
  }

  async destroy(): Promise<void> {
    await this.stop();
    this.#status = "destroyed";
    await this.#options.onDestroy?.();
  }

  /** Runs a command to its end. With `args`, each is one word of it. */
  async executeCommand(
    command: string,
    args: string[] = [],
    options: CommandOptions = {},
  ): Promise<CommandResult> {
    const { timeout = this.#options.timeout ?? TIMEOUT_MS } = options;
    const line = args.length === 0 ? command : [command, ...args.map(quote)].join(" ");
    const handle = await this.processes.spawn(line, { ...options, timeout, stdin: false });
    return handle.wait(options);
  }

  async #spawn(command: string, options: SpawnOptions): Promise<LocalProcess> {
    if (typeof command !== "string" || command.trim() === "" || command.includes("\0"))
      throw new AgentError(
        "invalid-argument",
        `A command must be a non-empty string without NUL characters, but got ${showValue(command)}.`,
      );
    if (Buffer.byteLength(command) > MAX_COMMAND_BYTES)
      throw new AgentError(
        "limit-exceeded",
        `The command has ${Buffer.byteLength(command)} bytes; the limit is ${MAX_COMMAND_BYTES}. Write it to a script file and run that file.`,
      );
    const { isolation, reach: common, home, limiter } = await this.#start();
    const reach = withGranted(common, options.granted);
    const files = new FileTree(
      [
        reach.workingDirectory,
        ...reach.readWritePaths,
        ...(options.granted ? grantedIn(reach, options.granted) : []),
      ],
      this.#system,
    );
    const access = options.access ?? "sandbox";
    const backend = access === "host" ? "none" : isolation;
    const inside = backend === "bwrap";
    const cwd = directoryIn(files, options.cwd ?? ".");
    const shell = process.platform === "win32" ? ["cmd.exe", "/d", "/s", "/c"] : ["/bin/sh", "-c"];
    const { nativeSandbox = {} } = this.#options;
    const writable = inside
      ? [...(reach.readOnly ? [] : [reach.workingDirectory]), ...reach.grantedPaths]
      : [];
    const start = this.#started;
    await this.#places.begin(writable);
    const ended = () => this.#places.end(writable);
    const argv = attempt(ended, () =>
      isolated(
        backend,
        { ...reach, network: reach.network || access === "network" },
        cwd,
        home,
        [...this.#limited(limiter, backend), ...shell, command],
        {
          bwrapArgs: ["--info-fd", "4", ...(nativeSandbox.bwrapArgs ?? [])],
          ...(nativeSandbox.seatbeltProfilePath && {
            seatbeltProfilePath: nativeSandbox.seatbeltProfilePath,
          }),
        },
      ),
    );
    const started = await LocalProcess.start({
      command,
      argv,
      cwd,
      env: this.#environment(inside ? SANDBOX_HOME : home, options.env),
      stdin: options.stdin ?? true,
      held: options.beforeRun !== undefined && process.platform !== "win32",
      reportsSandbox: inside,
      maxOutputBytes: this.#limits.outputBytes,
      onOutput: options.onOutput,
      afterExit: writable.length > 0 ? () => this.#places.check(writable) : undefined,
      system: this.#system,
    }).catch((error: unknown) => {
      ended();
      throw error;
    });
    void started.wait().then(ended);
    try {
      await options.beforeRun?.(started);
      options.abortSignal?.throwIfAborted();
      if (this.#started !== start)
        throw new AgentError("tool-aborted", "The sandbox was stopped before the command ran.");
    } catch (error) {
      await started.kill();
      throw error;
    }
    started.open();
    return started;
  }

  #limited(limiter: string | undefined, backend: Isolation): string[] {
    if (!limiter) return [];
    const { cpuSeconds, fileBytes, processes } = this.#limits;
    // Outside, the kernel would count all processes of the user.
    const count = backend === "bwrap" ? [`--nproc=${processes}`] : [];
    return [limiter, `--cpu=${cpuSeconds}`, `--fsize=${fileBytes}`, ...count, "--"];
  }

  #environment(home: string, more: Record<string, string> = {}): Record<string, string> {
    const path = process.env["PATH"] ?? "/usr/local/bin:/usr/bin:/bin";
    return { PATH: path, HOME: home, LANG: "C.UTF-8", TERM: "dumb", CI: "1", ...this.#options.env, ...more };
  }

  async getInfo(): Promise<SandboxInfo> {
    const { isolation, reach } = await this.#start();
    return {
      id: this.id,
      name: this.name,
      provider: this.provider,
      status: this.#status,
      isolation,
      network: isolation === "none" || reach.network,
      workingDirectory: reach.workingDirectory,
    };
  }

  getInstructions(): string {
    return toInstructions(
      this.#options.instructions,
      "Commands: run with /bin/sh -c in the working directory, without a terminal and without input. They have no access to the home directory or the environment of the host.",
    );
  }
}

interface Started {
  isolation: Isolation;
  reach: Reach;
  home: string;
  /** The program that sets limits. */
  limiter: string | undefined;
}

/** Describes the isolation of a command in one line, for people and models. */
export function describeIsolation(
  isolation: Isolation | undefined,
  network: boolean,
  access: CommandAccess = "sandbox",
  granted: readonly string[] = [],
): string {
  if (isolation === undefined) return "Commands run in a remote sandbox.";
  if (isolation === "none" || access === "host")
    return "Commands run without isolation: they can read and change everything this process can.";
  const name = isolation === "bwrap" ? "bubblewrap" : "seatbelt";
  const online = network || access === "network" ? "with network" : "without network";
  const where = ["the working directory", ...granted].join(", ");
  return `Commands run in ${name}, ${online}: they can only write in ${where}.`;
}

function withGranted(reach: Reach, granted: SpawnOptions["granted"]): Reach {
  if (!granted) return reach;
  const paths = grantedIn(reach, granted);
  return granted.readOnly || reach.readOnly
    ? { ...reach, readOnlyPaths: [...reach.readOnlyPaths, ...paths] }
    : { ...reach, grantedPaths: paths };
}

/** A path that a link has replaced since it was given does not count. */
function grantedIn({ workingDirectory }: Reach, { paths }: NonNullable<SpawnOptions["granted"]>): string[] {
  const real = paths.filter(
    (path) => isGrantable(path, workingDirectory) && !isWithin(path, workingDirectory),
  );
  // What is below another is reached through it. Mounted by itself, a command could replace it meanwhile.
  return real.filter((path) => !real.some((other) => other !== path && isWithin(path, other)));
}

function directoryIn(files: FileTree, cwd: string): string {
  const found = files.stat(cwd);
  if (found?.type === "directory") return found.realPath;
  throw new AgentError(
    "not-found",
    `cwd: ${showValue(cwd)} is not a directory in the workspace. Create it, or use another one.`,
  );
}

/** Calls `failed` if the work throws. */
function attempt<Result>(failed: () => void, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    failed();
    throw error;
  }
}

function quote(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
