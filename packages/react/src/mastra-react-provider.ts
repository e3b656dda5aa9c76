import { AgentError, type ClientOptions, MastraClient } from "@selvedge/client-js";
import { createContext, createElement, type ReactNode, useContext, useMemo } from "react";

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
  const made = useMemo(
    () =>
      client ??
      (baseUrl === undefined ? undefined : new MastraClient({ baseUrl, ...(headers && { headers }) })),
    [client, baseUrl, headers],
  );
  return createElement(ClientContext.Provider, { value: made }, children);
}

/** The client of the hooks: the one given, else that of the provider above. */
export function useMastraClient(given?: MastraClient): MastraClient {
  const provided = useContext(ClientContext);
  const client = given ?? provided;
  if (!client)
    throw new AgentError(
      "invalid-argument",
      "There is no client: pass one, or put <MastraReactProvider baseUrl=…> around your components.",
    );
  return client;
}
