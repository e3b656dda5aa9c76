import { type ReactNode, useEffect, useState } from "react";
import { Button } from "./button.tsx";

const SHOWN_MS = 1600;

/** Copies a text. `text` is asked for when it is wanted: it may be long, and changes while it is written. */
export function CopyButton({ label, text }: { label: string; text(): string }): ReactNode {
  const [outcome, setOutcome] = useState<"copied" | "failed">();
  useEffect(() => {
    if (outcome === undefined) return;
    const timer = setTimeout(() => setOutcome(undefined), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [outcome]);
  const copy = async (): Promise<void> => setOutcome((await copyText(text())) ? "copied" : "failed");
  const said = outcome === "copied" ? "Copied" : outcome === "failed" ? "Could not copy" : undefined;
  return (
    <>
      <Button
        kind="quiet"
        size="small"
        icon={outcome === "copied" ? "check" : outcome === "failed" ? "cross" : "copy"}
        label={said ?? label}
        onClick={() => void copy()}
      />
      {said && (
        <span className="visually-hidden" role="status">
          {said}
        </span>
      )}
    </>
  );
}

async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/** Pages that are not served securely have no clipboard, but may copy what is selected. */
function copyBySelection(text: string): boolean {
  const before = document.activeElement;
  const box = document.createElement("textarea");
  box.value = text;
  box.className = "visually-hidden";
  document.body.append(box);
  box.select();
  const done = document.execCommand("copy");
  box.remove();
  if (before instanceof HTMLElement) before.focus({ preventScroll: true });
  return done;
}
