import { MastraClient } from "@selvedge/client-js";
import { createContext, type ReactNode, use, useCallback, useMemo, useState } from "react";

const KEY = "selvedge.resource";
const NAME_KEY = "selvedge.name";
const DEFAULT_RESOURCE = "local";

interface Studio {
  client: MastraClient;
  /** On whose behalf the studio reads and sends. A server with an authoriser decides it by itself. */
  resourceId: string;
  setResourceId(resourceId: string): void;
  /** Who sits in front of this tab; may be empty. */
  name: string;
  setName(name: string): void;
}

const StudioContext = createContext<Studio | undefined>(undefined);

export function StudioProvider({ children }: { children: ReactNode }): ReactNode {
  const client = useMemo(() => new MastraClient({ baseUrl: location.origin }), []);
  const [resourceId, setStored] = useState(() => localStorage.getItem(KEY) ?? DEFAULT_RESOURCE);
  const setResourceId = useCallback((value: string) => {
    const next = value.trim() === "" ? DEFAULT_RESOURCE : value.trim();
    localStorage.setItem(KEY, next);
    setStored(next);
  }, []);
  const [name, setStoredName] = useState(() => sessionStorage.getItem(NAME_KEY) ?? "");
  const setName = useCallback((value: string) => {
    sessionStorage.setItem(NAME_KEY, value);
    setStoredName(value);
  }, []);
  const studio = useMemo(
    () => ({ client, resourceId, setResourceId, name, setName }),
    [client, resourceId, setResourceId, name, setName],
  );
  return <StudioContext value={studio}>{children}</StudioContext>;
}

export function useStudio(): Studio {
  const studio = use(StudioContext);
  if (!studio) throw new Error("useStudio is used outside of StudioProvider.");
  return studio;
}
