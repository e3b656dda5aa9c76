import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { findChromium, launch, openContext } from "./browser.ts";
import { DROP_AND_PASTE, heightOf, IMAGES, PAGE_WIDTH, TO_TOP, UNNAMED } from "./in-page.ts";
import { ThreadView } from "./thread-view.ts";
import { openWorkshop, type Workshop } from "./workshop.ts";

const chromium = findChromium();
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const picture = { name: "swatch.png", mimeType: "image/png", buffer: Buffer.from(PIXEL, "base64") };
const note = { name: "note.txt", mimeType: "text/plain", buffer: Buffer.from("Bring thread.") };

describe.skipIf(chromium === undefined)("The studio, in awkward cases", { tags: ["long"] }, () => {
  let browser: Browser;
  let context: BrowserContext;
  let open: Workshop;
  /** What the browser complained about; each test says what it expects. */
  let problems: string[];

  beforeAll(async () => {
    [open, browser] = await Promise.all([openWorkshop(), launch(chromium!)]);
    await open.fill("phone", 2);
  });
  afterAll(async () => {
    await Promise.all([open?.close(), browser?.close()]);
  });
  beforeEach(async () => {
    problems = [];
    context = await openContext(browser);
    context.on("weberror", (error) => problems.push(error.error().message));
    context.on("console", (message) => {
      if (message.type() === "error") problems.push(message.text());
    });
    context.on("request", (request) => {
      const { hostname } = new URL(request.url());
      if (hostname !== "127.0.0.1" && !request.url().startsWith("data:"))
        problems.push(`an outside call: ${request.url()}`);
    });
  });
  afterEach(async () => {
    await context.close();
  });

  /** Opens a new thread as a person does. */
  async function newThread(): Promise<ThreadView> {
    const page = await context.newPage();
    await page.goto(`${open.url}/agents`);
    await page.locator(".agent-card").getByRole("link", { name: "New thread" }).click();
    const view = ThreadView.on(page, "Loom");
    await view.isLive();
    return view;
  }

  it("opens a new thread and answers on it without one refused request", async () => {
    const view = await newThread();
    await view.say("hello");
    await view.shows("You said: hello");
    await view.page.reload();
    await view.shows("You said: hello");
    await view.page
      .getByRole("navigation", { name: "Recent threads" })
      .getByRole("link", { name: /^Untitled/ })
      .first()
      .waitFor();
    expect(problems).toEqual([]);
  });

  it("starts a thread from the first page where there is no controller", async () => {
    const page = await context.newPage();
    await page.goto(open.url);
    await page.getByLabel("First message").fill("hello from the start");
    await page.getByRole("button", { name: "Send" }).click();
    await ThreadView.on(page, "Loom").reads(["You: hello from the start", "You said: hello from the start"]);
    expect(await page.getByRole("list", { name: "Things to try" }).count()).toBe(0);
    expect(problems).toEqual([]);
  });

  it("sends files along with a message, shows them, and keeps them", async () => {
    const view = await newThread();
    const { page } = view;
    await page.getByLabel("Files to attach").setInputFiles([picture, note]);
    await expect.poll(() => page.getByTestId("attachment").count()).toBe(2);
    await page.getByRole("button", { name: "Remove note.txt" }).click();
    await view.say("");
    await view.shows("I got swatch.png (image/png).");
    await page.reload();
    await page.getByRole("img", { name: "swatch.png" }).waitFor();
    await page.getByLabel("Files to attach").setInputFiles(note);
    await page.getByTestId("attachment").waitFor();
    await view.say("read this");
    await view.shows("I got note.txt (text/plain).");
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save note.txt" }).click();
    expect((await saved).suggestedFilename()).toBe("note.txt");
    const big = { name: "big.bin", mimeType: "application/zip", buffer: Buffer.alloc(7_000_000, 1) };
    await page.getByLabel("Files to attach").setInputFiles(big);
    await page
      .getByText("big.bin is too large (7.0 MB): the files of a message may have 6.0 MB in total.")
      .waitFor();
    expect(problems).toEqual([]);
  });

  it("takes files that are dropped on the page or pasted", async () => {
    const view = await newThread();
    await view.page.evaluate(DROP_AND_PASTE);
    await expect.poll(() => view.page.getByTestId("attachment").count()).toBe(2);
    await view.say("both");
    await view.shows("I got dropped.txt (text/plain), pasted.txt (text/plain).");
    expect(await view.page.getByText("Drop files to attach them").count()).toBe(0);
    expect(problems).toEqual([]);
  });

  it("keeps the files of a queued message when its words are changed", async () => {
    const view = await newThread();
    const { page } = view;
    await view.say("wait");
    await view.shows("Waiting");
    await page.getByLabel("Files to attach").setInputFiles(picture);
    await page.getByTestId("attachment").waitFor();
    await view.say("look", "Control+Enter");
    await page.getByRole("button", { name: "Edit this message" }).click();
    const edit = page.getByLabel("Queued message", { exact: true });
    expect(await edit.inputValue()).toBe("look");
    await edit.fill("look closer");
    await edit.press("Enter");
    await page.getByTestId("queued").getByText("look closer [swatch.png]").waitFor();
    await view.box.press("Escape");
    await view.shows("I got swatch.png (image/png).");
    await view.shows("look closer");
  });

  it("is used with the keyboard alone", async () => {
    const view = await newThread();
    const { page } = view;
    await page.keyboard.type("one");
    await page.keyboard.press("Shift+Enter");
    await page.keyboard.type("two wait");
    await page.keyboard.press("Enter");
    await view.shows("Waiting");
    await page.keyboard.press("Escape");
    await view.isIdle();
    await page.keyboard.type("and on");
    await page.keyboard.press("Enter");
    await view.shows("You said: and on");
    expect((await view.transcript())[0]).toBe("You: one two wait");
    // Leaving a page with the keyboard leads into the next one.
    await page.getByRole("link", { name: "Agents" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Agents" }).waitFor();
    await expect.poll(() => page.evaluate("document.activeElement.id")).toBe("main");
    expect(await page.title()).toBe("Agents · Selvedge studio");
  });

  it("shows what a model writes without loading or running any of it, and copies code", async () => {
    await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: open.url });
    const view = await newThread();
    const { page } = view;
    await view.say("write an essay");
    await view.shows("A word without end");
    await view.isIdle();
    expect(await page.evaluate<number>(IMAGES)).toBe(0);
    await page.getByRole("button", { name: "Copy this code" }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    const copied = await page.evaluate<string>("navigator.clipboard.readText()");
    expect(copied).toMatch(/^export function weave[\s\S]+"thread-59"\];$/);
    await page.locator(".message[data-kind=agent]").hover();
    await page
      .locator(".message[data-kind=agent]")
      .getByRole("button", { name: "Copy this message" })
      .click();
    await expect.poll(() => page.evaluate<string>("navigator.clipboard.readText()")).toMatch(/^# On weaving/);
    expect(problems).toEqual([]);
  });

  it("fetches earlier messages as a reader scrolls up, and leaves what is read where it is", async () => {
    await open.fill("long", 170);
    const page = await context.newPage();
    await page.goto(`${open.url}/threads/long?agent=loom`);
    const rows = page.getByTestId("message");
    await expect.poll(() => rows.count()).toBe(40);
    expect(await page.getByText("Message 170").isVisible()).toBe(true);
    const toTop = (): Promise<{ text: string; y: number }> => page.evaluate(TO_TOP);
    for (let seen = 40; seen < 170; seen = await rows.count()) {
      const { text, y } = await toTop();
      const known = seen;
      await expect.poll(() => rows.count()).toBeGreaterThan(known);
      // What stood at the top still stands where it was, although there is more above it.
      await expect.poll(() => page.evaluate<number>(heightOf(text))).toBeCloseTo(y, -1);
    }
    expect(await rows.count()).toBe(170);
    expect((await toTop()).text).toBe("Message **1**");
    // Who writes is taken to where the answer comes.
    await page.getByLabel("Message to Loom").fill("here");
    await page.getByLabel("Message to Loom").press("Enter");
    await page.getByText("You said: here").waitFor();
    const y = async (): Promise<number> => (await page.getByText("You said: here").boundingBox())!.y;
    await expect.poll(y).toBeLessThan(860);
    expect(await y()).toBeGreaterThan(0);
  });

  it("goes from a search to the message that was found, however far back it is", async () => {
    await open.fill("searched", 130);
    const page = await context.newPage();
    await page.goto(`${open.url}/threads`);
    await page.getByRole("searchbox").fill("Message **7**");
    await page
      .getByRole("listitem")
      .filter({ hasText: "in 130 messages" })
      .getByRole("link", { name: "Message **7**" })
      .click();
    const found = page.locator("[data-found]");
    await found.waitFor();
    expect(await found.innerText()).toContain("Message **7**");
    await expect.poll(async () => (await found.boundingBox())!.y).toBeGreaterThan(60);
    expect((await found.boundingBox())!.y).toBeLessThan(700);
    expect(problems).toEqual([]);
  });

  it("shows a run that failed at once, and a tool that did", async () => {
    const view = await newThread();
    await view.say("use the broken one");
    await view.page.getByTestId("tool-call").getByText("failed").waitFor();
    await view.isIdle();
    await view.say("fail please");
    const failure = "The run failed: The model failed. scripted/model: The model is not there today.";
    await view.shows(failure);
    await view.page.reload();
    await view.shows(failure);
    await view.page.getByRole("link", { name: "Runs" }).click();
    await view.page.getByText("The run ended before its first step.").waitFor();
    expect(problems).toEqual([]);
  });

  it("gives a thread the name that a person wants", async () => {
    const view = await newThread();
    const { page } = view;
    const heading = (name: string) => page.getByRole("heading", { level: 1, name, exact: true });
    const box = page.getByLabel("Name of the thread");
    await heading("New thread").waitFor();
    expect(await view.button("Rename this thread").count()).toBe(0);
    await view.say("hello");
    await view.isIdle();
    await heading("Untitled").dblclick();
    await box.fill("  Spring orders ");
    await box.press("Enter");
    await heading("Spring orders").waitFor();
    expect(await page.title()).toBe("Spring orders · Selvedge studio");
    const recent = page.getByRole("navigation", { name: "Recent threads" });
    await recent.getByRole("link", { name: "Spring orders" }).waitFor();
    await page.reload();
    await heading("Spring orders").waitFor();
    // With the keyboard, and not after all.
    await view.button("Rename this thread").press("Enter");
    await box.fill("Autumn orders");
    await box.press("Escape");
    await heading("Spring orders").waitFor();
    // In the list, too.
    await page.getByRole("link", { name: "Threads", exact: true }).click();
    const list = page.getByRole("list", { name: "Threads" });
    await list.getByRole("button", { name: "Rename Spring orders" }).click();
    await box.fill("Summer <b>orders</b>");
    await view.button("Save").click();
    await list.getByText("Summer <b>orders</b>").waitFor();
    await recent.getByRole("link", { name: "Summer <b>orders</b>" }).waitFor();
    expect(problems).toEqual([]);
  });

  it.each(["/tools/order-cloth", "/threads/phone/runs", "/threads/phone"])(
    "fits a phone on %s, with a name for every control",
    async (path) => {
      const page = await context.newPage();
      await page.setViewportSize({ width: 390, height: 800 });
      await page.goto(`${open.url}${path}`);
      await page.locator("main h1").first().waitFor();
      if (path.startsWith("/tools")) await page.getByRole("button", { name: "Add delivery" }).click();
      expect(await page.evaluate<string[]>(UNNAMED)).toEqual([]);
      expect(await page.evaluate<number>(PAGE_WIDTH)).toBeLessThanOrEqual(390);
      // Who one is can be set here, too.
      await page.locator(".menu summary").click();
      await page.getByLabel("Your name").fill("Ada");
      await page.keyboard.press("Escape");
      expect(await page.getByLabel("Your name").isVisible()).toBe(false);
    },
  );

  describe("the form of a tool", () => {
    async function form(): Promise<Page> {
      const page = await context.newPage();
      await page.goto(`${open.url}/tools/order-cloth`);
      await page.getByLabel("name *").waitFor();
      return page;
    }
    const run = (page: Page): Promise<void> => page.getByRole("button", { name: "Run", exact: true }).click();

    it("says at each field what is missing, and goes to the first", async () => {
      const page = await form();
      await run(page);
      expect(await page.locator(".field-error").allInnerTexts()).toHaveLength(3);
      expect(await page.getByLabel("name *").getAttribute("aria-invalid")).toBe("true");
      const id = await page.getByLabel("name *").getAttribute("id");
      await expect.poll(() => page.evaluate("document.activeElement.id")).toBe(id);
      await page.keyboard.type("Ada");
      expect(await page.locator(".field-error").allInnerTexts()).toHaveLength(2);
      expect(await page.getByTestId("tool-outcome").count()).toBe(0);
      expect(problems).toEqual([]);
    });

    it("sends nested values, options and lists, and leaves out what was not given", async () => {
      const page = await form();
      await page.getByLabel("name *").fill("Ada");
      await page.getByLabel("cloth *").selectOption("twill");
      await page.getByLabel("metres *").fill("3");
      await page.getByRole("button", { name: "Add delivery" }).click();
      await page.getByLabel("Kind of delivery").selectOption("by: pickup");
      await page.getByLabel("hour *").fill("9");
      await run(page);
      const ordered = {
        customer: { name: "Ada" },
        lines: [{ cloth: "twill", metres: 3 }],
        priority: "normal",
        delivery: { by: "pickup", hour: 9 },
      };
      const outcome = page.getByTestId("tool-outcome");
      await outcome.waitFor();
      expect(JSON.parse(await outcome.innerText())).toEqual({ ordered });
      // The same as JSON, and back.
      await page.getByRole("button", { name: "As JSON" }).click();
      const json = page.getByLabel("Input", { exact: true });
      expect(JSON.parse(await json.inputValue())).toEqual(ordered);
      await json.fill("{ nothing");
      await page.getByRole("button", { name: "As a form" }).click();
      expect(await json.isVisible()).toBe(true);
      await json.fill(JSON.stringify({ ...ordered, priority: "high" }));
      await page.getByRole("button", { name: "As a form" }).click();
      expect(await page.getByLabel("priority").inputValue()).toBe("2");
      expect(await page.getByLabel("hour *").inputValue()).toBe("9");
    });

    it("shows what only the server finds at its field", async () => {
      const page = await form();
      await page.getByLabel("name *").fill("Nobody");
      await page.getByLabel("cloth *").selectOption("denim");
      await page.getByLabel("metres *").fill("1");
      await run(page);
      await page.locator(".field-error", { hasText: "Nobody orders nothing." }).waitFor();
      expect(await page.getByLabel("name *").getAttribute("aria-invalid")).toBe("true");
      await page.getByLabel("name *").fill("Somebody");
      expect(await page.locator(".field-error").count()).toBe(0);
    });
  });

  describe("at a server with an authoriser", () => {
    let guarded: Workshop;
    const accepted = new Map<string, "all" | []>();

    beforeAll(async () => {
      guarded = await openWorkshop({
        withController: true,
        authorize: (request) => {
          const token = request.headers.get("authorization")?.replace("Bearer ", "") ?? "";
          const grants = accepted.get(token);
          return grants && { resourceId: token, grants };
        },
      });
    });
    afterAll(() => guarded?.close());
    beforeEach(() => {
      accepted.clear();
      accepted.set("s3same", "all").set("plain", []);
    });

    async function signIn(page: Page, token: string): Promise<void> {
      await page.getByLabel("Bearer token").fill(token);
      await page.getByRole("button", { name: "Sign in" }).click();
    }

    it("asks for a token, refuses a wrong one, and sends the right one with every request", async () => {
      const page = await context.newPage();
      const bare: string[] = [];
      await page.goto(`${guarded.url}/agents`);
      await page.getByRole("heading", { name: "Sign in" }).waitFor();
      await signIn(page, "wrong");
      await page.getByText("The server does not accept this token (401).").waitFor();
      await signIn(page, "two words");
      await page.getByText("A token has only visible characters").waitFor();
      page.on("request", (request) => {
        const isCall = new URL(request.url()).pathname.startsWith("/api");
        if (isCall && request.headers()["authorization"] !== "Bearer s3same") bare.push(request.url());
      });
      await signIn(page, "s3same");
      await page.locator(".agent-card").getByRole("link", { name: "New thread" }).click();
      const view = ThreadView.on(page, "Loom");
      await view.isLive();
      await view.say("hello");
      await view.shows("You said: hello");
      await page.reload();
      await view.shows("You said: hello");
      expect(bare).toEqual([]);
      expect(await page.evaluate("JSON.stringify(localStorage)")).not.toContain("s3same");
      // Who the token is for is the server's business.
      expect(await page.getByLabel("Acting as").count()).toBe(0);
      // Another tab knows nothing of it.
      const other = await context.newPage();
      await other.goto(page.url());
      await other.getByRole("heading", { name: "Sign in" }).waitFor();
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByRole("heading", { name: "Sign in" }).waitFor();
      expect(await page.evaluate("JSON.stringify(sessionStorage)")).not.toContain("s3same");
    });

    it("says so when a token is accepted no longer, and goes on with another", async () => {
      const page = await context.newPage();
      await page.goto(`${guarded.url}/agents`);
      await signIn(page, "s3same");
      await page.locator(".agent-card").waitFor();
      accepted.delete("s3same");
      await page.getByRole("link", { name: "Threads" }).click();
      await page.getByText("The server no longer accepts your token (401).").waitFor();
      await signIn(page, "plain");
      await page.getByRole("heading", { level: 1, name: "Threads" }).waitFor();
    });

    it("opens a session for somebody with few rights, and shows what they may see of it", async () => {
      const page = await context.newPage();
      await page.goto(guarded.url);
      await signIn(page, "plain");
      await page.getByLabel("First message").fill("use the broken one");
      await page.keyboard.press("Enter");
      await page.waitForURL(/\/sessions\/weaver\//);
      await page.getByText("Your token does not allow you to see the rules.").waitFor();
      await page.getByRole("button", { name: "Always for this category" }).click();
      await page.getByRole("alert").getByText("You are not allowed to do this (403).").waitFor();
      await page.getByRole("button", { name: "Approve", exact: true }).click();
      await page.getByTestId("tool-call").getByText("failed", { exact: true }).waitFor();
      await page.reload();
      await page.getByTestId("tool-call").getByText("failed", { exact: true }).waitFor();
      // Another one's token does not open it.
      const other = await context.newPage();
      await other.goto(page.url());
      await signIn(other, "s3same");
      await other.getByText("There is no such session").waitFor();
    });

    it("says what somebody with few rights is not allowed to do", async () => {
      const page = await context.newPage();
      await page.goto(`${guarded.url}/tools/broken`);
      await signIn(page, "plain");
      await page.getByRole("button", { name: "Run", exact: true }).click();
      await page.getByTestId("tool-outcome").getByText("You are not allowed to do this (403).").waitFor();
      // It is still signed in.
      expect(await page.getByRole("button", { name: "Sign out" }).isVisible()).toBe(true);
    });
  });
});
