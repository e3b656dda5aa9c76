import type { ReactNode } from "react";

/** Strokes on a grid of 16 by 16. */
const PATHS = {
  thread: "M3 2v12M3 4h6.5M3 8h10M3 12h7.5",
  agent: "M4 6.5h8v6H4zM8 6.5V3.5M6.5 9.5h.01M9.5 9.5h.01M2 9v2M14 9v2",
  tool: "M9.6 6.4 3 13l-.5-.5M9.2 3.4a3 3 0 0 1 3.9-.9L11.4 4.3l.4.9.9.4 1.8-1.7a3 3 0 0 1-4.1 3.5",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.3 10.3 14 14",
  plus: "M8 3v10M3 8h10",
  send: "M2.5 8 14 2.5 10.5 14 8 9zM8 9l6-6.5",
  queue: "M3 4h10M3 8h10M3 12h5M12 10.5v4M10 12.5h4",
  stop: "M4 4h8v8H4z",
  check: "m3 8.5 3.5 3.5L13 4.5",
  cross: "m4 4 8 8M12 4l-8 8",
  edit: "M3 13h2.5L13 5.5 10.5 3 3 10.5zM9 4.5 11.5 7",
  trash: "M3 4.5h10M6.5 4.5V3h3v1.5M4.5 4.5l.5 8.5h6l.5-8.5",
  bell: "M4 11V7a4 4 0 0 1 8 0v4l1 1H3zM7 14h2",
  lane: "M2 5h12M2 11h12M5 3v4M11 9v4",
  clock: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 5v3.2L10.3 10",
  sun: "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M3.4 12.6l.7-.7M11.9 4.1l.7-.7",
  moon: "M13.5 9.5A5.8 5.8 0 0 1 6.5 2.5a5.8 5.8 0 1 0 7 7z",
  system: "M2 3h12v8H2zM6 14h4M8 11v3",
  down: "m4 6 4 4 4-4",
  up: "m4 10 4-4 4 4",
  session: "M2.5 3h11v7h-6L4.5 13v-3h-2zM5.5 6.5h5",
  tasks: "m2.5 4.5 1.2 1.2L6 3.4M2.5 11l1.2 1.2L6 9.9M8.5 4.5h5M8.5 11h5",
  lock: "M4 7.5h8v6H4zM5.5 7.5V5.3a2.5 2.5 0 0 1 5 0v2.2",
  plan: "M4 2h8v12H4zM6.5 5.5h3M6.5 8h3M6.5 10.5h2",
  panel: "M2 3h12v10H2zM10 3v10",
  run: "M5 3v10l8-5z",
  signal: "M8 9.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM4.5 11.5a5 5 0 0 1 0-7M11.5 4.5a5 5 0 0 1 0 7",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  clip: "m13 7.5-5.5 5.5a3.2 3.2 0 0 1-4.5-4.5l6-6a2.1 2.1 0 0 1 3 3l-6 6a1 1 0 0 1-1.5-1.5L10 4.5",
  file: "M4 2h5l3 3v9H4zM9 2v3h3",
  folder: "M2 4h4.5L8 5.5h6V13H2z",
  leave: "M6.5 3H3v10h3.5M10 5l3 3-3 3M13 8H6.5",
  settings: "M2 5h6M12 5h2M2 11h2M8 11h6M10 3.5v3M6 9.5v3",
  memory: "M8 4.5C7 3.5 5.5 3 2.5 3v9c3 0 4.5.5 5.5 1.5 1-1 2.5-1.5 5.5-1.5V3c-3 0-4.5.5-5.5 1.5zM8 4.5v9",
  workflow: "M2 6h3.5v4H2zM10.5 2.5H14v4h-3.5zM10.5 9.5H14v4h-3.5zM5.5 8h2.2M10.5 4.5H7.7v7h2.8",
  step: "M3 5.5A1.5 1.5 0 0 1 4.5 4h7A1.5 1.5 0 0 1 13 5.5v5a1.5 1.5 0 0 1-1.5 1.5h-7A1.5 1.5 0 0 1 3 10.5z",
  dot: "M8 9.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3z",
  minus: "M4 8h8",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  next: "M3.5 3.5v9l6-4.5zM12.5 3.5v9",
  repeat: "M3 7.5a4 4 0 0 1 4-4h5.5M10.5 1.5l2 2-2 2M13 8.5a4 4 0 0 1-4 4H3.5M5.5 14.5l-2-2 2-2",
  branch: "M3 8h3.5M6.5 8l3-4.5H13M6.5 8l3 4.5H13",
  parallel: "M2.5 8H5M5 3.5v9M5 3.5h8M5 8h8M5 12.5h8",
  map: "M2.5 5h8M8 2.5 10.5 5 8 7.5M13.5 11h-8M8 8.5 5.5 11 8 13.5",
  back: "M3 8a5 5 0 1 0 1.6-3.7M3 3v3h3",
  calendar: "M2.5 4h11v9.5h-11zM2.5 7h11M5.5 2.5v3M10.5 2.5v3",
  person: "M8 8a2.7 2.7 0 1 0 0-5.4A2.7 2.7 0 0 0 8 8zM3 13.5c.5-2.5 2.4-3.8 5-3.8s4.5 1.3 5 3.8",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }): ReactNode {
  return (
    <svg
      className="icon"
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
