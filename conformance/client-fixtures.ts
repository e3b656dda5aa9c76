import { MastraClient } from "@selvedge/client-js";
import { Mastra } from "@selvedge/core";
import { type RunningServer, serve } from "@selvedge/server/node";
import { printer } from "./fixtures.ts";
import { threadAgent } from "./thread-fixtures.ts";

/** The agent of the documents behind a real server, and a client of it. It starts to listen when it is first asked something. */
export function supportClient() {
  const { agent, model, memory } = threadAgent([{ text: ["Short", "er."] }]);
  const mastra = new Mastra({ agents: { supportAgent: agent }, logger: false });
  const leaving = new AbortController();
  let started: Promise<RunningServer> | undefined;
  const client = new MastraClient({
    baseUrl: "http://127.0.0.1",
    abortSignal: leaving.signal,
    fetch: async (url, init) => {
      started ??= serve({ mastra, port: 0 });
      const target = new URL(url);
      target.port = String((await started).port);
      return fetch(target, init);
    },
  });
  const close = async (): Promise<void> => {
    leaving.abort();
    await (await started)?.close();
    await mastra.close();
  };
  return { client, model, memory, close, ...printer() };
}
