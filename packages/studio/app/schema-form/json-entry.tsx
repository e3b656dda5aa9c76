import { type ReactNode, useEffect, useRef, useState } from "react";

/** A value written as JSON. What cannot be read yet stays in the box and does not pass the form's check. */
export function JsonEntry({
  common,
  value,
  onChange,
  rows = 4,
}: {
  common: Record<string, unknown>;
  value: unknown;
  onChange(value: unknown): void;
  rows?: number;
}): ReactNode {
  const [draft, setDraft] = useState(() => toText(value));
  const told = useRef(value);
  const box = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    // Somebody else changed the value: what stands here is no longer about it.
    if (told.current === value) return;
    told.current = value;
    setDraft(toText(value));
    box.current?.setCustomValidity("");
  }, [value]);
  return (
    <textarea
      {...common}
      ref={box}
      className="input mono"
      rows={rows}
      spellCheck={false}
      placeholder="JSON"
      value={draft}
      onChange={(event) => {
        const text = event.target.value;
        setDraft(text);
        try {
          told.current = text.trim() === "" ? undefined : JSON.parse(text);
          event.target.setCustomValidity("");
          onChange(told.current);
        } catch (error) {
          event.target.setCustomValidity(`This is not JSON: ${(error as Error).message}`);
        }
      }}
    />
  );
}

function toText(value: unknown): string {
  return value === undefined ? "" : JSON.stringify(value, undefined, 2);
}
