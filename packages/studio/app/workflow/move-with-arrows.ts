import type { KeyboardEvent } from "react";

const STEPS: Readonly<Record<string, number>> = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

/**
 * One stop of the Tab key for many buttons: arrows, Home and End move between those with `data-stop` in the element that
 * has this handler. The caller gives one of them `tabIndex={0}`.
 */
export function moveWithArrows(event: KeyboardEvent<HTMLElement>): void {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const stops = [...event.currentTarget.querySelectorAll<HTMLElement>("[data-stop]")];
  const at = stops.indexOf(document.activeElement as HTMLElement);
  if (at < 0) return;
  const move = STEPS[event.key];
  const next =
    move !== undefined
      ? stops[at + move]
      : event.key === "Home"
        ? stops[0]
        : event.key === "End"
          ? stops.at(-1)
          : undefined;
  if (!next) return;
  event.preventDefault();
  next.focus();
}
