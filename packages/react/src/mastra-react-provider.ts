import { AgentError, type ClientOptions, MastraClient } from "@selvedge/client-js";
import { createContext, createElement, type ReactNode, useContext, useMemo } from "react";
import { useLatest } from "./use-latest.ts";

const ClientContext = createContext<MastraClient | undefined>(undefined);

export interface MastraReactProviderProps {
  /** A client you made, or `baseUrl` and `headers` to make one. */
  client?: MastraClient;
  baseUrl?: string;
  headers?: ClientOptions["headers"];
  children?: ReactNode;
}

/** Gives the hooks below it their client. */
export function MastraReactProvider(props: MastraReactProviderProps): ReactNode {
  const { client, baseUrl, headers, children } = props;
  // Headers are often written in place: the same ones must not make another client. A function is the last render's.
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

/** The client of the hooks: the one given, else that of the provider above. */
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
