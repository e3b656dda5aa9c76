import { testThreads } from "@selvedge/testing/suites";
import { clientDoor, directDoor, handlerDoor } from "./__fixtures__/doors.ts";
import { handlerOf, hostWith, served } from "./__fixtures__/served-agent.ts";

testThreads("a thread in process", async (script, config) => {
  const host = hostWith(script, config);
  return { door: directDoor(host), model: host.model, close: () => host.mastra.close() };
});

testThreads("a thread through the handler", async (script, config) => {
  const host = hostWith(script, config);
  const handler = handlerOf(host);
  const close = async () => {
    handler.close();
    await host.mastra.close();
  };
  return { door: handlerDoor(handler), model: host.model, close };
});

testThreads("a thread through the client, over HTTP", async (script, config) => {
  const { client, model, close } = await served(script, config);
  return { door: clientDoor(client), model, close };
});
