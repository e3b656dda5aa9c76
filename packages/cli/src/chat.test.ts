import { PassThrough } from "node:stream";
import { Agent } from "@selvedge/core/agent";
import { InMemoryStore } from "@selvedge/core/storage";
import { Memory } from "@selvedge/memory";
import { createTool, type Tool } from "@selvedge/core/tools";
import { type Script, type ScriptedReply, scriptedModel } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { Chat } from "./chat.ts";
import { LocalPeer } from "./local-peer.ts";
import { createStyle } from "./style.ts";

const CTRL_C = "\u0003";

async function startChat(script: Script, tools: Record<string, Tool> = {}) {
  const memory = new Memory({ storage: new InMemoryStore() });
  const agent = new Agent({ name: "chat", instructions: "", model: scriptedModel(script), memory, tools });
  const input = new PassThrough();
  const output = new PassThrough();
  let screen = "";
  output.on("data", (data) => (screen += data));
  const peer = new LocalPeer(agent, memory, "local");
  await peer.open(undefined);
  const chat = new Chat({ peer, style: createStyle(false), input, output, terminal: true });
  const ended = chat.run();
  const shows = (text: string) => expect.poll(() => screen).toContain(text);
  /** Types something, and waits until it was read. */
  const type = async (text: string): Promise<void> => {
    input.write(text);
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
  };
  return { input, shows, ended, type, screen: () => screen };
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
    await shows("again to leave");
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

  it("shows a message that was typed during an answer where it is sent", async () => {
    const first = Promise.withResolvers<string>();
    const replies = [first.promise, "the second answer"];
    const { input, ended, type, screen } = await startChat(() => replies.shift()!);
    await type("go\r");
    await type("and then?\r");
    first.resolve("the first answer");
    await expect.poll(screen).toContain("the second answer");
    expect(screen()).toMatch(/the first answer\n\n> and then\?\nthe second answer/);
    input.end();
    await ended;
  });

  it("takes for an approval only what was typed after the question", async () => {
    const first = Promise.withResolvers<ScriptedReply>();
    const replies = [first.promise, "it is done", "you are welcome"];
    const ran: string[] = [];
    const tool = createTool({
      id: "wipe",
      description: "",
      requireApproval: true,
      execute: async () => ran.push("wipe"),
    });
    const { input, shows, ended, type, screen } = await startChat(() => replies.shift()!, { wipe: tool });
    await type("go\r");
    await type("yes\r");
    first.resolve({ toolCalls: [{ toolName: "wipe", input: {} }] });
    await shows("Allow wipe to run?");
    await type("");
    expect(ran).toEqual([]);
    await type("y\r");
    await shows("you are welcome");
    expect(ran).toEqual(["wipe"]);
    expect(screen()).toMatch(/it is done\n\n> yes\nyou are welcome/);
    input.end();
    await ended;
  });

  it("does not let an answer move the cursor", async () => {
    const { input, shows, ended } = await startChat(["a\u001b[2Jb"]);
    input.write("go\r");
    await shows("a[2Jb");
    input.end();
    await ended;
  });
});
