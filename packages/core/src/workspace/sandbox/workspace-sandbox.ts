import type { Readable, Writable } from "node:stream";
import type { ProviderStatus } from "../workspace-filesystem.ts";

/** How far a command may reach: the sandbox as configured, the sandbox with network, or the whole machine. */
export type CommandAccess = "sandbox" | "network" | "host";

export interface CommandOptions {
  /** Milliseconds after which the command is killed. */
  timeout?: number;
  /** Relative to the working directory. */
  cwd?: string;
  env?: Record<string, string>;
  onStdout?(text: string): void;
  onStderr?(text: string): void;
  abortSignal?: AbortSignal;
}

export interface CommandResult {
  success: boolean;
  exitCode: number;
  stdout: string;
  stderr: string;
  executionTimeMs: number;
  timedOut?: boolean;
  killed?: boolean;
  /** The oldest output was dropped. */
  stdoutTruncated?: boolean;
  stderrTruncated?: boolean;
  stdoutDroppedBytes?: number;
  stderrDroppedBytes?: number;
  /** What the sandbox found and changed after the command, for people and models. */
  warning?: string;
}

export type OutputStream = "stdout" | "stderr";

export interface SpawnOptions extends CommandOptions {
  /** Default: `"sandbox"`. Anything else must have been approved. */
  access?: CommandAccess;
  /** Directories outside the working directory that a person gave to the command's session, by their real paths. */
  granted?: { paths: readonly string[]; readOnly: boolean };
  /** Keep stdin open for `sendStdin`. Default: true. */
  stdin?: boolean;
  /** Called for every piece of output as it arrives, before it is decoded. Must not block. */
  onOutput?(stream: OutputStream, bytes: Buffer): void;
  /**
   * Called when the process exists and before it runs the command. If it rejects, or this process dies, the command
   * does not run.
   */
  beforeRun?(handle: ProcessHandle): Promise<void>;
}

export interface ProcessHandle {
  readonly pid: string;
  readonly command: string;
  /** The last 1 MiB. */
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number | undefined;
  /** stdout as a stream, from the first access on. Fails if it is read too slowly; the command never waits for it. */
  readonly reader: Readable;
  readonly writer: Writable;
  wait(options?: Pick<CommandOptions, "onStdout" | "onStderr" | "abortSignal">): Promise<CommandResult>;
  /** Resolves when every process of the group has ended; false if it had ended before. */
  kill(): Promise<boolean>;
  sendStdin(data: string | Uint8Array): Promise<void>;
  closeStdin(): Promise<void>;
}

export interface ProcessInfo {
  pid: string;
  command: string;
  running: boolean;
  exitCode?: number;
}

export interface SandboxProcessManager {
  spawn(command: string, options?: SpawnOptions): Promise<ProcessHandle>;
  list(): Promise<ProcessInfo[]>;
  get(pid: string): Promise<ProcessHandle | undefined>;
  kill(pid: string): Promise<boolean>;
}

/** What keeps a command inside the sandbox: bubblewrap on Linux, seatbelt on macOS, or nothing. */
export type Isolation = "bwrap" | "seatbelt" | "none";

export interface SandboxInfo {
  id: string;
  name: string;
  provider: string;
  status: ProviderStatus;
  /** Absent for sandboxes that are elsewhere. */
  isolation?: Isolation;
  /** Whether commands reach the network without asking. */
  network?: boolean;
  workingDirectory?: string;
}

/** A place where commands run. */
export interface WorkspaceSandbox {
  readonly id: string;
  readonly name: string;
  readonly provider: string;
  readonly status: ProviderStatus;
  start?(): Promise<void>;
  /** Ends all processes. The next command starts the sandbox again. */
  stop?(): Promise<void>;
  destroy?(): Promise<void>;
  executeCommand?(command: string, args?: string[], options?: CommandOptions): Promise<CommandResult>;
  readonly processes?: SandboxProcessManager;
  /** Keeps the state of a sandbox that is elsewhere. Called by the host, never by a tool. */
  snapshot?(): Promise<unknown>;
  readonly networking?: { getPortUrl(port: number): string | undefined | Promise<string | undefined> };
  getInfo(): SandboxInfo | Promise<SandboxInfo>;
  /** Text for the system message. The same for the same configuration. */
  getInstructions(): string;
}
