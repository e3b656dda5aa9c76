import { PassThrough } from "node:stream";
import { Agent } from "@selvedge/core/agent";
import { InMemoryStore } from "@selvedge/core/storage";
import { Memory } from "@selvedge/memory";
import { type Script, scriptedModel } from "@selvedge/testing";
import { describe, expect, it, vi } from "vitest";
import { Chat } from "./chat.ts";
import { LocalPeer } from "./local-peer.ts";
import { createStyle } from "./style.ts";

const CTRL_C = "\u0003";

async function startChat(script: Script) {
  const memory = new Memory({ storage: new InMemoryStore() });
  const agent = new Agent({ name: "chat", instructions: "", model: scriptedModel(script), memory });
  const input = new PassThrough();
  const output = new PassThrough();
  let screen = "";
  output.on("data", (data) => (screen += data));
  const peer = new LocalPeer(agent, memory, "local");
  await peer.open(undefined);
  const chat = new Chat({ peer, style: createStyle(false), input, output, terminal: true });
  const ended = chat.run();
  const shows = (text: string) => vi.waitFor(() => expect(screen).toContain(text));
  return { input, shows, ended };
}

describe("Chat on a terminal", () => {
  it("stops the answer at Ctrl-C and takes the next question", async () => {
    const { input, shows, ended } = await startChat([
      { text: ["one ", "two ", "three"], hang: { after: 3 } },
      "the second answer",
    ]);
    input.write("go\r");
    await shows("one ");
    input.write(CTRL_C);
    await shows("(stopped)");
    input.write("again\r");
    await shows("the second answer");
    input.end();
    expect(await ended).toBe(0);
  });

  it("leaves at the second Ctrl-C", async () => {
    const { input, shows, ended } = await startChat([]);
    input.write(CTRL_C);
    await shows("once more to leave");
    input.write(CTRL_C);
    expect(await ended).toBe(0);
  });

  it("shows a failure and stays", async () => {
    const { input, shows, ended } = await startChat([{ error: new Error("out of order") }, "fine now"]);
    input.write("go\r");
    await shows("out of order");
    input.write("again\r");
    await shows("fine now");
    input.end();
    expect(await ended).toBe(0);
  });

  it("does not let an answer move the cursor", async () => {
    const { input, shows, ended } = await startChat(["a\u001b[2Jb"]);
    input.write("go\r");
    await shows("a[2Jb");
    input.end();
    await ended;
  });
});
