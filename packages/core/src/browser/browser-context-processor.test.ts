import type { StoredMessage } from "@selvedge/protocol";
import { describe, expect, it } from "vitest";
import { agentWith } from "../agent/__fixtures__/agent-with.ts";
import { ON, onThread } from "../agent/__fixtures__/on-thread.ts";
import { Workspace } from "../workspace/workspace.ts";
import { scratch } from "../workspace/__fixtures__/scratch.ts";
import { ScriptedBrowser } from "./__fixtures__/scripted-browser.ts";
import { MastraBrowser } from "./mastra-browser.ts";

const goto = (url: string) => ({ toolCalls: [{ toolName: "browser_goto", input: { url } }] });

/** What the lane `browser` stored. */
const laneOf = (messages: StoredMessage[]): any[] =>
  messages.flatMap((message) => {
    const signal = message.content.metadata?.["signal"] as any;
    if (signal?.metadata?.state?.id !== "browser") return [];
    const { state, value, delta } = signal.metadata;
    return [{ mode: state.mode, ...(delta ? { delta } : { value }) }];
  });

describe("an agent with a browser", () => {
  it("has its tools, a line about it, and needs no memory", async () => {
    const browser = new ScriptedBrowser();
    const { agent, model } = agentWith(["Hi."], { browser });
    await agent.generate("Hello");
    const [call] = model.calls;
    expect(call!.tools?.map(({ name }) => name)).toEqual(["browser_goto", "browser_click"]);
    expect(JSON.stringify(call!.prompt)).toContain("You have a web browser.");
  });

  it("uses the browser of its workspace, and closes it with the workspace", async () => {
    const browser = new ScriptedBrowser();
    const workspace = new Workspace({ filesystem: scratch().files, browser });
    const { agent, model } = agentWith(["Hi."], { workspace });
    await agent.generate("Hello");
    expect(model.calls[0]!.tools?.map(({ name }) => name)).toContain("browser_goto");
    await browser.ensureReady();
    await workspace.destroy();
    expect(browser.status).toBe("closed");
  });
});

describe("the lane of a browser", () => {
  it("has a snapshot, then what changed, and nothing when nothing changed", async () => {
    const browser = new ScriptedBrowser();
    const { agent, model, messages } = onThread(
      ["Hi.", goto("https://a.test/"), "Open.", "Still.", goto("https://b.test/"), "Moved."],
      { browser },
    );
    await agent.generate("Hello", ON);
    expect(laneOf(await messages())).toEqual([]);
    await agent.generate("Open a", ON);
    const { processId } = browser;
    const value = {
      processId,
      open: true,
      activeUrl: "https://a.test/",
      pageTitle: "Page",
      tabCount: 1,
      activeUrlChangeSource: "agent",
    };
    expect(laneOf(await messages())).toEqual([{ mode: "snapshot", value }]);
    await agent.generate("And now?", ON);
    expect(laneOf(await messages())).toHaveLength(1);
    await agent.generate("Open b", ON);
    expect(laneOf(await messages()).slice(1)).toEqual([
      { mode: "delta", delta: { activeUrl: "https://b.test/", processId } },
    ]);
    const shown = JSON.stringify(model.calls.at(-1)!.prompt);
    expect(shown).toContain('<state type=\\"browser\\">The browser is open with 1 tab. URL: https://a.test/');
    expect(shown).toContain('<state type=\\"browser\\">URL: https://b.test/</state>');
  });

  it("says who closed the browser", async () => {
    const browser = new ScriptedBrowser();
    const { agent, messages } = onThread([goto("https://a.test/"), "Open.", "Closed.", "Still."], {
      browser,
    });
    await agent.generate("Open", ON);
    await browser.closeThreadSession("t1", "error");
    await agent.generate("And now?", ON);
    await agent.generate("And now?", ON);
    expect(laneOf(await messages()).slice(1)).toEqual([
      {
        mode: "delta",
        delta: expect.objectContaining({ open: false, closeReason: "error", activeUrl: null }),
      },
    ]);
  });

  it("says that the process restarted, once, when another process continues the thread", async () => {
    const first = onThread([goto("https://a.test/"), "Open."], { browser: new ScriptedBrowser() });
    await first.agent.generate("Open", ON);
    const { storage } = first;
    const browser = new ScriptedBrowser();
    const script = ["Gone.", "Still gone.", goto("https://b.test/"), "Open again."];
    const { agent, messages, model } = onThread(script, { browser, storage });
    await agent.generate("Where are you?", ON);
    await agent.generate("And now?", ON);
    const [, closed, ...rest] = laneOf(await messages());
    expect(closed).toMatchObject({ mode: "delta", delta: { open: false, closeReason: "process_restart" } });
    expect(rest).toEqual([]);
    expect(JSON.stringify(model.calls[0]!.prompt)).toContain("the process restarted");
    await agent.generate("Open b", ON);
    expect(laneOf(await messages()).at(-1)).toMatchObject({
      delta: { open: true, activeUrl: "https://b.test/", closeReason: null, processId: browser.processId },
    });
    await browser.closeThreadSession("t1", "agent");
  });

  it("shows a snapshot again when the model no longer sees the last one", async () => {
    const browser = new ScriptedBrowser();
    const { agent, messages } = onThread([goto("https://a.test/"), "Open.", "1", "2", "3"], {
      browser,
      memoryOptions: { lastMessages: 1 },
    });
    await agent.generate("Open", ON);
    for (let n = 0; n < 3; n++) await agent.generate(`Question ${n}`, ON);
    const modes = laneOf(await messages()).map(({ mode }) => mode);
    expect(modes.length).toBeGreaterThan(1);
    expect(new Set(modes)).toEqual(new Set(["snapshot"]));
  });

  it("escapes and cuts what a page calls itself", async () => {
    const browser = new ScriptedBrowser();
    browser.show("t1", `https://a.test/${"x".repeat(2000)}`, `</state>${"<b>".repeat(1000)}`);
    const { agent, model, messages } = onThread(["Hi."], { browser });
    await agent.generate("Hello", ON);
    const [{ value }] = laneOf(await messages());
    expect([value.activeUrl.length, value.pageTitle.length]).toEqual([500, 500]);
    const prompt = JSON.stringify(model.calls[0]!.prompt);
    expect(prompt.match(/<\/state>/g)).toHaveLength(1);
    expect(prompt).toContain("&lt;/state&gt;&lt;b&gt;");
  });
});

describe("MastraBrowser", () => {
  it("starts once for many callers, again after it was closed, and tells its hooks", async () => {
    const events: string[] = [];
    const browser = new ScriptedBrowser({
      onLaunch: () => void events.push("launch"),
      onClose: () => void events.push("close"),
    });
    expect(browser.status).toBe("pending");
    await Promise.all([browser.ensureReady(), browser.ensureReady()]);
    expect([browser.status, browser.launches]).toEqual(["ready", 1]);
    await Promise.all([browser.close(), browser.close()]);
    await browser.close();
    expect(browser.status).toBe("closed");
    await browser.ensureReady();
    expect(browser.launches).toBe(2);
    expect(events).toEqual(["launch", "close", "launch"]);
  });

  it("uses the current thread where none is named", async () => {
    const browser = new ScriptedBrowser();
    browser.show("t1", "https://a.test/");
    expect(await browser.getCurrentUrl()).toBeUndefined();
    browser.setCurrentThread("t1");
    expect([browser.getCurrentThread(), await browser.getCurrentUrl()]).toEqual(["t1", "https://a.test/"]);
  });

  it("refuses options that it does not support", () => {
    expect(() => new ScriptedBrowser({ screencast: true })).toThrow(/screencast is not supported/);
    expect(() => new ScriptedBrowser({ scope: "all" as never })).toThrow(/scope must be/);
  });
});

it("refuses a browser with a size or a time limit that cannot be meant", () => {
  class Sized extends ScriptedBrowser {}
  const browser = (options: object) => () => Reflect.construct(MastraBrowser, [options], Sized) as unknown;
  expect(browser({ viewport: { width: 0, height: 720 } })).toThrow("viewport must be");
  expect(browser({ timeout: -1 })).toThrow("timeout must be");
  expect(browser({ viewport: "window", timeout: 0 })).not.toThrow();
});
