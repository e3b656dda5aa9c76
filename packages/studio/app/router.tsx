import {
  createContext,
  type AnchorHTMLAttributes,
  type MouseEvent,
  type ReactNode,
  use,
  useCallback,
  useEffect,
  useMemo,
  useState,
} from "react";

interface Place {
  /** Decoded parts of the path. */
  parts: readonly string[];
  query: URLSearchParams;
}

interface GoOptions {
  replace?: boolean;
  /** Leads to a thread that nobody has written to. The browser remembers it with the place, also over a reload. */
  fresh?: boolean;
}

interface Router extends Place {
  /** Rises with every step, also with one to the same place. */
  visit: number;
  go(to: string, options?: GoOptions): void;
}

const RouterContext = createContext<Router | undefined>(undefined);

export function RouterProvider({ children }: { children: ReactNode }): ReactNode {
  const [{ href, visit }, setPlace] = useState({ href: location.pathname + location.search, visit: 0 });
  const arrive = useCallback(
    () => setPlace((before) => ({ href: location.pathname + location.search, visit: before.visit + 1 })),
    [],
  );
  useEffect(() => {
    addEventListener("popstate", arrive);
    return () => removeEventListener("popstate", arrive);
  }, [arrive]);
  const go = useCallback(
    (to: string, { replace, fresh }: GoOptions = {}) => {
      const state = fresh ? { fresh } : null;
      if (replace) history.replaceState(state, "", to);
      else history.pushState(state, "", to);
      arrive();
    },
    [arrive],
  );
  const router = useMemo(() => ({ ...toPlace(href), visit, go }), [href, visit, go]);
  return <RouterContext value={router}>{children}</RouterContext>;
}

export function useRouter(): Router {
  const router = use(RouterContext);
  if (!router) throw new Error("useRouter is used outside of RouterProvider.");
  return router;
}

/** Whether this place was opened as a thread that nobody has written to, and nobody has since. */
export function isFreshPlace(): boolean {
  return (history.state as { fresh?: unknown } | null)?.fresh === true;
}

/** The place is no longer new. */
export function settlePlace(): void {
  if (isFreshPlace()) history.replaceState(null, "", location.href);
}

/** A link within the studio. A click with a modifier opens a tab as everywhere. */
export function Link({
  href,
  fresh = false,
  onClick,
  ...rest
}: AnchorHTMLAttributes<HTMLAnchorElement> & { href: string; fresh?: boolean }): ReactNode {
  const { go } = useRouter();
  const follow = (event: MouseEvent<HTMLAnchorElement>): void => {
    onClick?.(event);
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(href, { fresh });
  };
  return <a href={href} onClick={follow} {...rest} />;
}

/** A path of the studio; parts are encoded, values that are absent are left out of the query. */
export function path(parts: readonly string[], query: Record<string, string | undefined> = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value) search.set(name, value);
  const text = search.toString();
  return `/${parts.map(encodeURIComponent).join("/")}${text && `?${text}`}`;
}

function toPlace(href: string): Place {
  const { pathname, searchParams } = new URL(href, location.origin);
  return { parts: pathname.split("/").filter(Boolean).map(decode), query: searchParams };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
