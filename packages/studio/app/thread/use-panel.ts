import { useEffect, useState } from "react";
import { useRouter } from "../router.tsx";

/** Whether the panel beside a conversation is open: where there is room, and when the address names a note in it. */
export function usePanel(): [open: boolean, setOpen: (change: (open: boolean) => boolean) => void] {
  const { query, visit } = useRouter();
  const [open, setOpen] = useState(() => matchMedia("(min-width: 72rem)").matches);
  const note = query.get("note");
  useEffect(() => {
    if (note !== null) setOpen(true);
  }, [note, visit]);
  return [open, setOpen];
}
