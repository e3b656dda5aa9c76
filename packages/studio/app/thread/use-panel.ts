import { useState } from "react";
import { useRouter } from "../router.tsx";

/** Whether the panel beside a conversation is open: where there is room, and when the address names a note in it. */
export function usePanel(): [open: boolean, setOpen: (change: (open: boolean) => boolean) => void] {
  const { query, visit } = useRouter();
  const [open, setOpen] = useState(() => matchMedia("(min-width: 72rem)").matches);
  const [opened, setOpened] = useState<number>();
  // While drawing, so that the note can take the focus as soon as it is drawn.
  if (query.get("note") !== null && opened !== visit) {
    setOpened(visit);
    setOpen(true);
  }
  return [open, setOpen];
}
