import type { ChildProcess } from "node:child_process";
import type { Stream } from "node:stream";
import { realSystem, sleep, type System } from "../system.ts";
import { type JSONRPCMessage, serializeMessage, type Transport } from "@modelcontextprotocol/client";
import { getDefaultEnvironment } from "@modelcontextprotocol/client/stdio";
import spawn from "cross-spawn";
import { MessageLines } from "./message-lines.ts";
import type { ServerDefinition } from "./read-definition.ts";

const GRACE_MS = 1500;

/**
 * A server that runs as a child process in its own process group, so that the processes it starts end with it. It gets
 * the few variables every program needs plus the configured ones, and no shell.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #definition: ServerDefinition;
  readonly #system: System;
  readonly #lines = new MessageLines();
  #child: ChildProcess | undefined;
  #exited: Promise<void> = Promise.resolve();

  constructor(definition: ServerDefinition, system: System = realSystem) {
    this.#definition = definition;
    this.#system = system;
  }

  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  get stderr(): Stream | null {
    return this.#child?.stderr ?? null;
  }

  async start(): Promise<void> {
    const { command, args = [], env, cwd, stderr = "inherit" } = this.#definition;
    const child = spawn(command!, args, {
      env: { ...getDefaultEnvironment(), ...env },
      ...(cwd !== undefined && { cwd }),
      stdio: ["pipe", "pipe", stderr],
      shell: false,
      windowsHide: true,
      detached: process.platform !== "win32",
    });
    this.#child = child;
    this.#exited = new Promise((resolve) => {
      child.once("close", () => {
        resolve();
        this.onclose?.();
      });
    });
    for (const stream of [child.stdin, child.stdout]) stream?.on("error", (error) => this.onerror?.(error));
    child.stdout?.on("data", (chunk: Buffer) => this.#read(chunk));
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", reject);
    });
    child.on("error", (error) => this.onerror?.(error));
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (!stdin?.writable) throw new Error("The server process has exited.");
    if (!stdin.write(serializeMessage(message)))
      await new Promise<void>((resolve) => {
        stdin.once("drain", resolve);
        stdin.once("close", resolve);
      });
  }

  /** Closes stdin, then kills the whole group if it does not exit by itself. */
  async close(): Promise<void> {
    const child = this.#child;
    if (!child) return;
    this.#child = undefined;
    child.stdin?.end();
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      await Promise.race([this.#exited, sleep(this.#system, GRACE_MS, { background: true })]);
      // The child may be gone while its own children live on.
      killGroup(child.pid, signal);
      if (child.exitCode !== null || child.signalCode !== null) break;
    }
    killGroup(child.pid, "SIGKILL");
    await Promise.race([this.#exited, sleep(this.#system, GRACE_MS, { background: true })]);
    this.#lines.clear();
  }

  /** Used when this process exits and cannot wait. */
  kill(): void {
    killGroup(this.#child?.pid, "SIGKILL");
  }

  #read(chunk: Buffer): void {
    try {
      for (const message of this.#lines.read(chunk)) this.#deliver(message);
    } catch (error) {
      this.onerror?.(error as Error);
      void this.close();
    }
  }

  #deliver(message: JSONRPCMessage): void {
    try {
      this.onmessage?.(message);
    } catch (error) {
      this.onerror?.(error as Error);
    }
  }
}

function killGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === "win32" ? pid : -pid, signal);
  } catch {
    // No process is left.
  }
}
