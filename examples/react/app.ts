import type { CallResult } from "@selvedge/client-js";
import { MastraReactProvider, useMastraClient } from "@selvedge/react";
import { createElement as h, type ReactNode, useEffect, useState } from "react";
import { Chat } from "./chat.ts";

/** The page of somebody who is signed in. Who they are the server reads from the token; the page cannot choose. */
export function App({ baseUrl, token }: { baseUrl: string; token: string }): ReactNode {
  const headers = { authorization: `Bearer ${token}` };
  return h(MastraReactProvider, { baseUrl, headers }, h(Threads));
}

/** Their conversations, and the one that is open. */
function Threads(): ReactNode {
  const client = useMastraClient();
  const [threads, setThreads] = useState<CallResult<"listThreads">["threads"]>([]);
  const [open, setOpen] = useState<string>();
  useEffect(() => {
    void client.listMemoryThreads().then((page) => setThreads(page.threads));
  }, [client, open]);
  return [
    ...threads.map(({ id, title }) =>
      h("button", { key: id, onClick: () => setOpen(id) }, title ?? "Untitled"),
    ),
    // An id is for one thread of one person, whoever else is there: take one that nobody guesses.
    h("button", { key: "new", onClick: () => setOpen(crypto.randomUUID()) }, "New"),
    open && h(Chat, { key: open, threadId: open }),
  ];
}
