import { useCallback, useMemo, useState } from "react";

const KEY = "selvedge.token";

export interface Session {
  /** Sent with every request as a bearer token; kept as long as the tab is open. */
  token: string | undefined;
  /** Why the server lets nobody in: it wants a token, or does not take the one it got. */
  locked: "wanted" | "refused" | undefined;
  signIn(token: string): void;
  signOut(): void;
  /** The server answered 401 to a request with this token. */
  lock(token: string | undefined): void;
}

export function useSession(): Session {
  const [{ token, locked }, setState] = useState<Pick<Session, "token" | "locked">>(() => ({
    token: sessionStorage.getItem(KEY) ?? undefined,
    locked: undefined,
  }));
  const signIn = useCallback((next: string) => {
    sessionStorage.setItem(KEY, next);
    setState({ token: next, locked: undefined });
  }, []);
  const signOut = useCallback(() => {
    sessionStorage.removeItem(KEY);
    setState({ token: undefined, locked: "wanted" });
  }, []);
  const lock = useCallback((refused: string | undefined) => {
    // An answer to a request of an earlier token says nothing about this one.
    setState((now) =>
      now.token === refused ? { ...now, locked: refused === undefined ? "wanted" : "refused" } : now,
    );
  }, []);
  return useMemo(() => ({ token, locked, signIn, signOut, lock }), [token, locked, signIn, signOut, lock]);
}
