import assert from "node:assert/strict";
import { MastraClient } from "@selvedge/client-js";
import { Mastra } from "@selvedge/core";
import { Agent } from "@selvedge/core/agent";
import { InMemoryStore } from "@selvedge/core/storage";
import { Memory } from "@selvedge/memory";
import { MastraReactProvider, ThreadStore, type ThreadSnapshot } from "@selvedge/react";
import { serve } from "@selvedge/server/node";
import { scriptedModel } from "@selvedge/testing";
import { createElement as h } from "react";
import { renderToString } from "react-dom/server";
import { Chat } from "./chat.ts";

const model = scriptedModel([{ text: ["Good ", "day."] }]);
const memory = new Memory({ storage: new InMemoryStore() });
const agent = new Agent({ name: "weaver", instructions: "Greet.", model, memory });
const mastra = new Mastra({ agents: { weaver: agent }, logger: false });
const server = await serve({ mastra, port: 0 });

// A page renders without a connection, on a server too.
const page = h(MastraReactProvider, { baseUrl: server.url }, h(Chat, { threadId: "greetings" }));
assert.equal(renderToString(page), "…");

// What is behind the hook works without React: a snapshot, and listeners.
const client = new MastraClient({ baseUrl: server.url });
const store = new ThreadStore(client, { agentId: "weaver", threadId: "greetings", resourceId: "ada" });
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
await server.close();
await mastra.close();
