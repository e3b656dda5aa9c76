import { MastraClient } from "@selvedge/client-js";
import { createContext, type ReactNode, use, useCallback, useMemo, useState } from "react";
import { type Session, useSession } from "./use-session.ts";

const KEY = "selvedge.resource";
const NAME_KEY = "selvedge.name";
const DEFAULT_RESOURCE = "local";

interface Studio extends Session {
  client: MastraClient;
  /** On whose behalf the studio reads and sends. A server with an authoriser decides it by itself. */
  resourceId: string;
  setResourceId(resourceId: string): void;
  /** Changes whenever the list of threads may look different. */
  threadsVersion: number;
  noteThreads(): void;
  /** Who sits in front of this tab; may be empty. */
  name: string;
  setName(name: string): void;
}

const StudioContext = createContext<Studio | undefined>(undefined);

export function StudioProvider({ children }: { children: ReactNode }): ReactNode {
  const session = useSession();
  const { token, lock } = session;
  const client = useMemo(
    () =>
      new MastraClient({
        baseUrl: location.origin,
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
        fetch: async (url, init) => {
          const response = await fetch(url, init);
          if (response.status === 401) lock(token);
          return response;
        },
      }),
    [token, lock],
  );
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
  const [threadsVersion, setThreadsVersion] = useState(0);
  const noteThreads = useCallback(() => setThreadsVersion((version) => version + 1), []);
  const studio = useMemo(
    () => ({ ...session, client, resourceId, setResourceId, name, setName, threadsVersion, noteThreads }),
    [session, client, resourceId, setResourceId, name, setName, threadsVersion, noteThreads],
  );
  return <StudioContext value={studio}>{children}</StudioContext>;
}

export function useStudio(): Studio {
  const studio = use(StudioContext);
  if (!studio) throw new Error("useStudio is used outside of StudioProvider.");
  return studio;
}
