import { describe, expect, it } from "vitest";
import { type ModelServer, startModelServer } from "./model-server.ts";

function post(server: ModelServer, body: object): Promise<Response> {
  return fetch(`${server.url}/chat/completions`, {
    method: "POST",
    body: JSON.stringify({ model: "m", messages: [], ...body }),
  });
}

describe("startModelServer", () => {
  it("streams events that end with [DONE]", async () => {
    await using server = await startModelServer([{ text: ["a", "b"] }]);
    const response = await post(server, { stream: true });
    const events = (await response.text()).trim().split("\n\n");
    expect(events.at(-1)).toBe("data: [DONE]");
    const deltas = events
      .slice(0, -1)
      .map((event) => JSON.parse(event.slice(6)).choices[0]?.delta.content ?? "");
    expect(deltas.join("")).toBe("ab");
  });

  it("answers in one piece when no stream is asked for", async () => {
    await using server = await startModelServer(["whole"]);
    expect(await (await post(server, {})).json()).toMatchObject({
      choices: [{ message: { content: "whole" } }],
      usage: { total_tokens: 15 },
    });
  });

  it("answers with an error, and with one when the script has ended", async () => {
    await using server = await startModelServer([
      { status: 429, error: "slow down", headers: { "retry-after": "3" } },
    ]);
    const refused = await post(server, { stream: true });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "3"]);
    expect((await post(server, {})).status).toBe(400);
  });

  it("cuts connections and keeps what it was asked", async () => {
    await using server = await startModelServer([{ text: ["a", "b"], cutAfter: 2 }]);
    await expect(post(server, { stream: true }).then((response) => response.text())).rejects.toThrow();
    expect(server.requests[0]).toMatchObject({ path: "/v1/chat/completions", body: { model: "m" } });
  });

  it("closes even while a reply is stalled", async () => {
    const server = await startModelServer([{ text: "x", stallAfter: 1 }]);
    const body = (await post(server, { stream: true })).text();
    await server.close();
    await expect(body).rejects.toThrow();
  });
});
