import type { CallResult } from "@selvedge/client-js";
import { MastraReactProvider, useMastraClient } from "@selvedge/react";
import { createElement as h, type ReactNode, useEffect, useState } from "react";
import { Chat } from "./chat.ts";

/** The page of a signed-in user. The server reads the user from the token; the page cannot choose it. */
export function App({ baseUrl, token }: { baseUrl: string; token: string }): ReactNode {
  const headers = { authorization: `Bearer ${token}` };
  return h(MastraReactProvider, { baseUrl, headers }, h(Threads));
}

/** The user's threads, and the one that is open. */
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
    // Thread ids are unique across all users, so use ids that cannot be guessed.
    h("button", { key: "new", onClick: () => setOpen(crypto.randomUUID()) }, "New"),
    open && h(Chat, { key: open, threadId: open }),
  ];
}
