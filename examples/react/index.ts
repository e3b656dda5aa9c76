import assert from "node:assert/strict";
import { MastraClient } from "@selvedge/client-js";
import { Mastra } from "@selvedge/core";
import { Agent } from "@selvedge/core/agent";
import { InMemoryStore } from "@selvedge/core/storage";
import { Memory } from "@selvedge/memory";
import { ThreadStore, type ThreadSnapshot } from "@selvedge/react";
import { serve } from "@selvedge/server/node";
import { scriptedModel } from "@selvedge/testing";
import { createElement as h } from "react";
import { renderToString } from "react-dom/server";
import { App } from "./app.ts";

const model = scriptedModel([{ text: ["Good ", "day."] }]);
const memory = new Memory({ storage: new InMemoryStore() });
const agent = new Agent({ name: "weaver", instructions: "Greet.", model, memory });
const mastra = new Mastra({ agents: { weaver: agent }, logger: false });
const users = new Map([
  ["Bearer token-of-ada", "ada"],
  ["Bearer token-of-ben", "ben"],
]);
const server = await serve({
  mastra,
  port: 0,
  authorize: (request) => {
    const resourceId = users.get(request.headers.get("authorization") ?? "");
    return resourceId === undefined ? null : { resourceId };
  },
});

// The page renders on a server too, without opening a connection.
const page = h(App, { baseUrl: server.url, token: "token-of-ada" });
assert.equal(renderToString(page), "<button>New</button>");

// The store behind the hook works without React.
const clientOf = (user: string) =>
  new MastraClient({ baseUrl: server.url, headers: { authorization: `Bearer token-of-${user}` } });
const store = new ThreadStore(clientOf("ada"), { agentId: "weaver", threadId: "greetings" });
const answered = Promise.withResolvers<ThreadSnapshot>();
const leave = store.subscribe(() => {
  const snapshot = store.getSnapshot();
  if (snapshot.messages[1]?.state === "done") answered.resolve(snapshot);
});

const sent = store.sendMessage("Hello!");
assert.equal(store.getSnapshot().messages[0]?.state, "sending");
await sent;

const { messages } = await answered.promise;
assert.deepEqual(
  messages.map(({ role, state }) => [role, state]),
  [
    ["user", "done"],
    ["assistant", "done"],
  ],
);
leave();

// Ben cannot see Ada's threads.
assert.equal((await clientOf("ada").listMemoryThreads()).total, 1);
assert.equal((await clientOf("ben").listMemoryThreads()).total, 0);
await server.close();
await mastra.close();
