import assert from "node:assert/strict";
import { Agent, Mastra } from "@selvedge/core";
import { InMemoryStore } from "@selvedge/core/storage";
import { Memory } from "@selvedge/memory";
import { createServer } from "@selvedge/server";
import { serve } from "@selvedge/server/node";
import { scriptedModel } from "@selvedge/testing";

const helper = new Agent({
  id: "helper",
  name: "Helper",
  instructions: "Help.",
  model: scriptedModel(["Good morning.", "Good evening."]),
  memory: new Memory(),
});
const mastra = new Mastra({ agents: { helper }, storage: new InMemoryStore() });

// Identify the caller from a session, a token or whatever your app uses. A `resourceId` in the request is ignored.
const users = new Map([["token-of-ann", "ann"]]);
const { url, close } = await serve({
  mastra,
  port: 0,
  authorize: (request) => {
    const token = request.headers.get("authorization")?.replace("Bearer ", "");
    const user = token === undefined ? undefined : users.get(token);
    return user === undefined ? null : { resourceId: user };
  },
});

const headers = { authorization: "Bearer token-of-ann", "content-type": "application/json" };

// The response confirms that the message is stored. The reply arrives on the thread's stream.
const sent = await fetch(`${url}/api/agents/helper/send-message`, {
  method: "POST",
  headers,
  body: JSON.stringify({ message: "Hello", threadId: "greetings" }),
});
const { accepted, runId } = (await sent.json()) as { accepted: true; runId: string };
assert.equal(accepted, true);

// Events are numbered. A reader that lost its connection passes the last number it saw and misses nothing.
const events = await fetch(`${url}/api/agents/helper/threads/greetings/events?after=0`, { headers });
let text = "";
for await (const piece of events.body!.pipeThrough(new TextDecoderStream())) {
  text += piece;
  if (text.includes('"type":"finish"')) break;
}
assert.match(text, /^: connected\n\nretry: 1000\nid: 0\n\nid: 1\ndata: {"type":"start"/);
assert.ok(text.includes("Good morning.") && text.includes(runId));

// No other user finds the thread, and without a token nothing is found.
const strangers = await fetch(`${url}/api/memory/threads/greetings`);
assert.equal(strangers.status, 401);
await close();

// The same server as a function from `Request` to `Response`, for any framework.
const server = createServer({ mastra, authorize: () => ({ resourceId: "ann" }) });
const response = await server.fetch(
  new Request("http://localhost/v1/chat/completions", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "helper", messages: [{ role: "user", content: "And later?" }] }),
  }),
);
const completion = (await response.json()) as { choices: { message: { content: string } }[] };
assert.equal(completion.choices[0]!.message.content, "Good evening.");
await mastra.close();
console.log("The server answered, and only to Ann.");
