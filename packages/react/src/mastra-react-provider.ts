import { AgentError, type ClientOptions, MastraClient } from "@selvedge/client-js";
import { createContext, createElement, type ReactNode, useContext, useMemo } from "react";
import { useLatest } from "./use-latest.ts";

const ClientContext = createContext<MastraClient | undefined>(undefined);

export interface MastraReactProviderProps {
  /** A client, or `baseUrl` and `headers` to create one. */
  client?: MastraClient;
  baseUrl?: string;
  headers?: ClientOptions["headers"];
  children?: ReactNode;
}

/** Provides the hooks below it with a client. */
export function MastraReactProvider(props: MastraReactProviderProps): ReactNode {
  const { client, baseUrl, headers, children } = props;
  // Headers are often written inline: equal ones must not create another client. A function is that of the last render.
  const fixed = typeof headers === "function" ? undefined : JSON.stringify(headers);
  const asked = typeof headers === "function";
  const latest = useLatest(headers);
  const made = useMemo(() => {
    if (client ?? baseUrl === undefined) return client;
    const ask = async (): Promise<Record<string, string>> => {
      const now = latest.current;
      return typeof now === "function" ? now() : (now ?? {});
    };
    const same = fixed === undefined ? undefined : (JSON.parse(fixed) as Record<string, string>);
    const sent = asked ? ask : same;
    return new MastraClient({ baseUrl, ...(sent && { headers: sent }) });
  }, [client, baseUrl, fixed, asked, latest]);
  return createElement(ClientContext.Provider, { value: made }, children);
}

/** The client for hooks: the one given, otherwise the provider's. */
export function useMastraClient(given?: MastraClient): MastraClient {
  const provided = useContext(ClientContext);
  const client = given ?? provided;
  if (!client)
    throw new AgentError(
      "invalid-argument",
      "There is no client: pass one, or wrap your components in <MastraReactProvider baseUrl=…>.",
    );
  return client;
}
