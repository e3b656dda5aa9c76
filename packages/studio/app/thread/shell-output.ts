import type { NumberedChunk } from "@selvedge/protocol/routes";
import { createContext, use, useCallback, useSyncExternalStore } from "react";

const MAX_CHARACTERS = 64 * 1024;
/** Escape sequences of terminals: colours, cursor movements, titles. */
const CONTROL = new RegExp(
  String.raw`\u001B(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001B]*(?:\u0007|\u001B\\)?)`,
  "g",
);

/** Output without what only a terminal understands. */
export function plainOutput(output: string): string {
  return output.replace(CONTROL, "");
}

interface Shown {
  pieces: string[];
  length: number;
  /** Whether its beginning was dropped. */
  isCut: boolean;
  /** Joined when it is read. */
  text?: string | undefined;
}

/** The end of what running commands have written, by call. A piece costs the same, whatever came before. */
export class ShellOutput {
  readonly #calls = new Map<string, Shown>();
  readonly #listeners = new Set<() => void>();
  #isDue = false;

  readonly take = (chunk: NumberedChunk): void => {
    if (chunk.type !== "data-sandbox-stdout" && chunk.type !== "data-sandbox-stderr") return;
    const { toolCallId, output } = chunk.data as { toolCallId: string; output: string };
    const shown = this.#calls.get(toolCallId) ?? { pieces: [], length: 0, isCut: false };
    this.#calls.set(toolCallId, shown);
    shown.pieces.push(output);
    shown.length += output.length;
    while (shown.pieces.length > 1 && shown.length - shown.pieces[0]!.length >= MAX_CHARACTERS) {
      shown.length -= shown.pieces.shift()!.length;
      shown.isCut = true;
    }
    shown.text = undefined;
    if (this.#isDue) return;
    this.#isDue = true;
    requestAnimationFrame(() => {
      this.#isDue = false;
      for (const listener of this.#listeners) listener();
    });
  };

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  of(toolCallId: string): string | undefined {
    const shown = this.#calls.get(toolCallId);
    if (!shown) return undefined;
    shown.text ??= (shown.isCut ? "…" : "") + plainOutput(shown.pieces.join("").slice(-MAX_CHARACTERS));
    return shown.text;
  }
}

export const ShellOutputContext = createContext<ShellOutput>(new ShellOutput());

/** What a command has written so far, while this page watches. */
export function useShellOutput(toolCallId: string): string | undefined {
  const output = use(ShellOutputContext);
  return useSyncExternalStore(
    output.subscribe,
    useCallback(() => output.of(toolCallId), [output, toolCallId]),
  );
}
