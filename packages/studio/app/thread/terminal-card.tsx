import type { MessagePart } from "@selvedge/protocol";
import type { Wire } from "@selvedge/protocol/routes";
import { type ReactNode, useLayoutEffect, useRef } from "react";
import { formatDuration } from "../format.ts";
import { Badge } from "../ui/badge.tsx";
import { Icon } from "../ui/icon.tsx";
import { useShellOutput } from "./shell-output.ts";

interface Exit {
  toolCallId: string;
  exitCode: number | null;
  executionTimeMs: number;
  killed?: boolean;
  timedOut?: boolean;
}

/** A command, its output while it runs, and how it ended. */
export function TerminalCard({
  command,
  toolCallId,
  parts,
}: {
  command: string;
  toolCallId: string;
  /** The parts of its message, among which its end is. */
  parts: readonly Wire<MessagePart>[];
}): ReactNode {
  const output = useShellOutput(toolCallId);
  const exit = exitOf(parts, toolCallId);
  return (
    <section className="tool-call" aria-label={`Command ${command}`} data-testid="terminal">
      <div className="tool-call-head" data-plain="">
        <Icon name="run" />
        <span className="mono truncate grow">$ {command}</span>
        <ExitBadge exit={exit} />
      </div>
      <OutputBox output={output} />
    </section>
  );
}

/** Output that grows. It stays at its end while the reader is there. */
export function OutputBox({ output }: { output: string | undefined }): ReactNode {
  const box = useRef<HTMLPreElement>(null);
  const atEnd = useRef(true);
  useLayoutEffect(() => {
    if (box.current && atEnd.current) box.current.scrollTop = box.current.scrollHeight;
  }, [output]);
  if (output === undefined || output === "") return null;
  return (
    <pre
      ref={box}
      className="code"
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        atEnd.current = scrollHeight - scrollTop - clientHeight < 24;
      }}
    >
      {output}
    </pre>
  );
}

function ExitBadge({ exit }: { exit: Exit | undefined }): ReactNode {
  if (!exit) {
    return (
      <Badge tone="indigo" pulse>
        running
      </Badge>
    );
  }
  const { exitCode, killed, timedOut, executionTimeMs } = exit;
  const end = timedOut ? "timed out" : killed ? "killed" : `exit ${exitCode}`;
  return (
    <Badge tone={exitCode === 0 ? "green" : "red"}>
      {end} · {formatDuration(executionTimeMs)}
    </Badge>
  );
}

function exitOf(parts: readonly Wire<MessagePart>[], toolCallId: string): Exit | undefined {
  for (const part of parts) {
    if (part.type !== "data-sandbox-exit" || !("data" in part)) continue;
    const exit = part.data as Exit;
    if (exit.toolCallId === toolCallId) return exit;
  }
  return undefined;
}
