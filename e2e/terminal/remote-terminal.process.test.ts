import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { newProject, start } from "./in-project.ts";
import { findPty, type TestTerminal } from "./test-terminal.ts";

const pty = await findPty();
if ("missing" in pty) console.warn(`skipped: the chat with a server on a terminal: ${pty.missing}`);

async function serve(cwd: string, port = "0"): Promise<{ server: TestTerminal; url: string }> {
  const server = await start(cwd, ["dev", "--port", port, "--no-color"], { columns: 120 });
  await server.shows(/http:\/\/[\d.]+:\d+/);
  return { server, url: /http:\/\/[\d.]+:\d+/.exec(server.text())![0] };
}

describe.skipIf("missing" in pty)("selvedge chat --url on a terminal", () => {
  it(
    "has the same session as every other terminal on the server, and as one without a server",
    { tags: ["long"] },
    async () => {
      const cwd = await newProject();
      const { server, url } = await serve(cwd);
      const one = await start(cwd, ["chat", "--url", url]);
      const two = await start(cwd, ["chat", "--dev"]);
      await one.isIdle();
      await two.isIdle();
      one.type("work gate\r");
      await two.shows("… work");
      two.type("be quick\r");
      await two.shows("> be quick (steering)");
      await writeFile(join(cwd, "gate"), "");
      await one.shows("You said: be quick");
      one.type("edit\r");
      await two.shows("Allow edit_file");
      two.type("a\r");
      await one.shows('✓ edit_file "a.txt"');
      await one.isIdle();
      one.type("pick\r");
      await two.shows("› 1. red");
      two.type("2\r");
      await one.shows("The user answered: green");
      await one.isIdle();
      // In the store they are one session, so the process of a terminal can have it, too.
      const three = await start(cwd);
      await three.isIdle();
      expect(three.text({ all: true })).toContain("You said: be quick");
      three.type("/mode plan\r");
      await one.shows("Mode: plan");
      await server.stop();
    },
  );

  it("says that the server is gone, connects again when it is back, and loses nothing", async () => {
    const cwd = await newProject();
    const { server, url } = await serve(cwd);
    const terminal = await start(cwd, ["chat", "--url", url]);
    await terminal.isIdle();
    terminal.type("work gate\r");
    await terminal.shows("… work");
    await server.stop();
    await terminal.shows("The connection was lost. Reconnecting …");
    await terminal.shows("reconnecting …");
    terminal.type("\u0003");
    await terminal.shows("Press Ctrl-C again to quit.");
    await terminal.shows("✗ The server cannot be reached.");
    await serve(cwd, new URL(url).port);
    await terminal.shows("Connected again.");
    terminal.type("and then this\r");
    await terminal.shows("> and then this (steering)");
    await writeFile(join(cwd, "gate"), "");
    await terminal.shows("You said: and then this");
    await terminal.isIdle();
    const text = terminal.text({ all: true });
    for (const once of ["> work gate", "> and then this", "You said: and then this", "I am at work."])
      expect(text.split(once)).toHaveLength(2);
    expect(text).toContain('✓ work "gate"');
  });

  it("gives back what could not be sent", { tags: ["long"] }, async () => {
    const cwd = await newProject();
    const { server, url } = await serve(cwd);
    const terminal = await start(cwd, ["chat", "--url", url]);
    await terminal.isIdle();
    await server.stop();
    await terminal.shows("reconnecting …");
    terminal.type("hello?\r");
    await terminal.shows("✗ The server cannot be reached.");
    await terminal.shows(/─\nhello\?\s/);
  });
});
