import { useCallback, useMemo, useRef, useState } from "react";
import { type Attachment, readAttachments } from "./attachment.ts";

interface Written {
  text: string;
  attachments: readonly Attachment[];
}

const NOTHING: Written = { text: "", attachments: [] };

/** A message that is being written. */
export interface Draft extends Written {
  /** Files are being read. */
  reading: boolean;
  /** Why files were not attached. */
  problems: readonly string[];
  write(text: string): void;
  attach(files: readonly File[]): void;
  detach(id: string): void;
  dismiss(): void;
  /** Takes what was written, and leaves nothing. */
  take(): Written;
  /** Puts back what was taken, unless something new was written. */
  giveBack(written: Written): void;
}

export function useDraft(): Draft {
  const [written, setWritten] = useState<Written>(NOTHING);
  const [pending, setPending] = useState(0);
  const [problems, setProblems] = useState<readonly string[]>([]);
  // Files are read one lot after another, so that each lot knows how much room is left.
  const now = useRef(written);
  const lots = useRef(Promise.resolve());

  const set = useCallback((next: Written) => {
    now.current = next;
    setWritten(next);
  }, []);
  const attach = useCallback(
    (files: readonly File[]) => {
      if (files.length === 0) return;
      setPending((count) => count + 1);
      lots.current = lots.current.then(async () => {
        const { added, problems: found } = await readAttachments(files, now.current.attachments);
        set({ ...now.current, attachments: [...now.current.attachments, ...added] });
        setProblems(found);
        setPending((count) => count - 1);
      });
    },
    [set],
  );
  return useMemo(
    () => ({
      ...written,
      reading: pending > 0,
      problems,
      attach,
      write: (text: string) => set({ ...now.current, text }),
      detach: (id: string) => {
        set({ ...now.current, attachments: now.current.attachments.filter((file) => file.id !== id) });
      },
      dismiss: () => setProblems([]),
      take: () => {
        const taken = now.current;
        set(NOTHING);
        setProblems([]);
        return taken;
      },
      giveBack: (taken: Written) => {
        const { text, attachments } = now.current;
        if (text === "" && attachments.length === 0) set(taken);
      },
    }),
    [written, pending, problems, attach, set],
  );
}
