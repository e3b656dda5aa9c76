import { useEffect } from "react";

const NAME = "Selvedge studio";

/** Names the tab after what it shows. */
export function usePageTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · ${NAME}`;
    return () => void (document.title = NAME);
  }, [title]);
}
