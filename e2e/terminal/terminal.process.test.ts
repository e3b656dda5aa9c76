import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { newProject, start } from "./in-project.ts";
import { findPty, type TestTerminal, type TestTerminalOptions } from "./test-terminal.ts";

const CTRL_C = "\u0003";
const CTRL_D = "\u0004";
const ALT_ENTER = "\u001b\r";
const UP = "\u001b[A";
const DOWN = "\u001b[B";

const pty = await findPty();
if ("missing" in pty) console.warn(`skipped: the chat on a terminal: ${pty.missing}`);

async function chat(
  options: Partial<TestTerminalOptions> = {},
): Promise<{ terminal: TestTerminal; cwd: string }> {
  const cwd = await newProject();
  const terminal = await start(cwd, ["chat"], options);
  await terminal.isIdle();
  return { terminal, cwd };
}

const count = (text: string, part: string): number => text.split(part).length - 1;

describe.skipIf("missing" in pty)("selvedge chat on a terminal", () => {
  it("streams Markdown with code and tables, in 80 columns", async () => {
    const { terminal } = await chat();
    terminal.type("markdown\r");
    await terminal.shows("│ 1    │ 2     │");
    await terminal.isIdle();
    const text = terminal.text();
    expect(text).toContain("> markdown");
    expect(text).toContain("Some bold words, code, 日本語の文章 and a link (https://example.com/a).");
    expect(text).toContain("  const answer: number = 42;");
    // The comment is dim, the keyword has a colour.
    expect(terminal.raw).toContain("\u001b[2m// a comment\u001b[22m");
    expect(terminal.raw).toMatch(/\u001b\[35mconst\u001b\[39m/);
    expect(terminal.raw).not.toContain("\u001b]8;;https");
  });

  it(
    "wraps what is typed and what is said, also wide characters, and follows the cursor",
    { tags: ["long"] },
    async () => {
      const { terminal } = await chat({ columns: 40 });
      const words = "日本語の文章 is wrapped where it must be, and nowhere else";
      terminal.type(words);
      await terminal.shows("nowhere else");
      for (const line of terminal.lines()) expect(line.length).toBeLessThanOrEqual(40);
      terminal.type("\u001b[D\u001b[D\u001b[D\u001b[D日");
      await terminal.shows("nowhere 日else");
      terminal.type("\r");
      await terminal.shows("You said: 日本語の文章");
      await terminal.isIdle();
      expect(terminal.text().replace(/\s+/g, " ")).toContain(
        "You said: 日本語の文章 is wrapped where it must be, and nowhere 日else",
      );
    },
  );

  it("draws every line once where the terminal finds an emoji wider than the chat does", async () => {
    const { terminal, cwd } = await chat({ columns: 40 });
    // This terminal draws the members of a family side by side.
    const gate = "👩‍👩‍👧 日本語のとても長い文章がここにあります折り返し";
    terminal.type(`work ${gate}\r`);
    await terminal.shows("… work");
    await writeFile(join(cwd, gate), "");
    await terminal.shows("✓ work");
    await terminal.isIdle();
    expect(terminal.text({ all: true })).not.toContain("… work");
  });

  it("edits several lines, and brings back what was sent", { tags: ["long"] }, async () => {
    const { terminal } = await chat();
    terminal.type("first");
    terminal.type("\n");
    terminal.type("second\\\rthird");
    await terminal.shows(/first\s*\nsecond\s*\nthird/);
    terminal.type("\r");
    await terminal.shows("You said: first");
    await terminal.isIdle();
    terminal.type("another\r");
    await terminal.shows("You said: another");
    await terminal.isIdle();
    terminal.type(UP);
    terminal.type(UP);
    await terminal.shows(/─\nfirst\s*\nsecond\s*\nthird\s*\n─/);
    terminal.type(CTRL_C);
    await terminal.shows(/─\n\s*\n─/);
  });

  it(
    "takes 50 KB from the clipboard as one message, and shows that it is there",
    { tags: ["long"] },
    async () => {
      const { terminal } = await chat();
      const pasted = `${"a line of text\n".repeat(3500)}and \u001b[31mthe end`;
      terminal.type("length of ");
      terminal.paste(pasted);
      await terminal.shows("[paste #1 +3501 lines]");
      terminal.type("\r");
      const length = `length of ${pasted.replace("\u001b", "")}`.length;
      await terminal.shows(`It has ${length} characters.`);
      expect(terminal.text({ all: true })).toContain("… 3481 more lines");
    },
  );

  it("completes commands and the names of conversations", { tags: ["long"] }, async () => {
    const { terminal } = await chat();
    terminal.type("/new About weaving\r");
    await terminal.shows("Started a new conversation.");
    terminal.type("over there\r");
    await terminal.shows("You said: over there");
    terminal.type("/new\r");
    await terminal.shows((text) => !text.includes("over there"));
    terminal.type("/thr");
    await terminal.shows("list the conversations");
    terminal.type("\t");
    await terminal.shows(/─\n\/threads\s/);
    terminal.type(" Abo");
    await terminal.shows(/About weaving +\d/);
    terminal.type("\t");
    await terminal.shows("/threads About weaving");
    terminal.type("\r");
    await terminal.shows("You said: over there");
  });

  it("shows at once what is typed while the agent works: as steering, or as queued", async () => {
    const { terminal, cwd } = await chat();
    terminal.type("work gate\r");
    await terminal.shows("… work");
    terminal.type("and be quick\r");
    await terminal.shows("> and be quick (steering)");
    terminal.type(`later${ALT_ENTER}`);
    await terminal.shows("> later (queued)");
    await terminal.shows("1 queued");
    terminal.type("/queue edit 1 much later\r");
    await terminal.shows("> much later (queued)");
    await writeFile(join(cwd, "gate"), "");
    await terminal.shows("You said: and be quick");
    await terminal.shows("You said: much later");
    await terminal.isIdle();
    const text = terminal.text({ all: true });
    expect(text).not.toContain("(steering)");
    expect(text).not.toContain("(queued)");
    expect(count(text, "> and be quick")).toBe(1);
    expect(count(text, "> much later")).toBe(1);
    expect(text.indexOf("> and be quick")).toBeLessThan(text.indexOf("You said: and be quick"));
  });

  it("folds a tool call to a line with its status, and shows what an edit changes before it is allowed", async () => {
    const { terminal } = await chat();
    terminal.type("edit\r");
    await terminal.shows("Allow edit_file");
    await terminal.shows('? edit_file "a.txt" · waiting for you');
    await terminal.shows(/ {4}one\n {2}- two\n {2}\+ 2\n {4}three/);
    terminal.type("n\r");
    await terminal.shows('✗ edit_file "a.txt"');
    await terminal.shows("Result: denied");
    terminal.type("edit\r");
    await terminal.shows("Allow edit_file");
    terminal.type("y\r");
    await terminal.shows('✓ edit_file "a.txt" → {"edited":"a.txt"}');
    await terminal.isIdle();
    terminal.type("edit\r");
    await terminal.shows("Allow edit_file");
    terminal.type("a\r");
    await terminal.shows((text) => count(text, "✓ edit_file") === 2, { all: true });
    await terminal.isIdle();
    terminal.type("edit\r");
    await terminal.shows((text) => count(text, "✓ edit_file") === 3, { all: true });
    await terminal.isIdle();
    terminal.type("/permissions\r");
    await terminal.shows("granted  edit");
  });

  it(
    "takes for an answer only what is typed after the question, and gives the rest back",
    { tags: ["long"] },
    async () => {
      const { terminal, cwd } = await chat();
      terminal.type("work gate\r");
      await terminal.shows("… work");
      terminal.type("edit\r");
      await terminal.shows("(steering)");
      terminal.type("y");
      await terminal.shows(/─\ny\s/);
      await writeFile(join(cwd, "gate"), "");
      await terminal.shows("Allow edit_file");
      await terminal.shows(/─\n\s*\n─/);
      terminal.type("n\r");
      await terminal.shows("Result: denied");
      await terminal.shows(/─\ny\s/);
    },
  );

  it("tells the agent what to do instead of a call that waits", { tags: ["long"] }, async () => {
    const { terminal } = await chat();
    terminal.type("edit\r");
    await terminal.shows("Allow edit_file");
    terminal.type("rather not today\r");
    await terminal.shows("You said: rather not today");
    await terminal.isIdle();
    expect(terminal.text()).toContain("✗ edit_file");
  });

  it("asks for words, for one of several, and for some of several", async () => {
    const { terminal } = await chat();
    terminal.type("ask\r");
    await terminal.shows("What is your name?");
    terminal.type("Ada\r");
    await terminal.shows("The user answered: Ada");
    await terminal.isIdle();
    terminal.type("pick\r");
    await terminal.shows("› 1. red  like a rose");
    terminal.type(DOWN);
    await terminal.shows("› 2. green");
    terminal.type("\r");
    await terminal.shows("The user answered: green");
    await terminal.isIdle();
    terminal.type("pick\r");
    await terminal.shows("› 1. red");
    terminal.type("7\r");
    await terminal.shows('Choose one number from 1 to 3, got "7".');
    terminal.type("3\r");
    await terminal.shows("The user answered: blue");
    await terminal.isIdle();
    terminal.type("mark\r");
    await terminal.shows("› 1. [ ] red");
    terminal.type(" ");
    await terminal.shows("› 1. [x] red");
    terminal.type(`${DOWN}${DOWN} `);
    await terminal.shows("› 3. [x] blue");
    terminal.type("\r");
    await terminal.shows("The user answered: red, blue");
  });

  it("sends a plan back with what to change, and carries on in the next mode when it is approved", async () => {
    const { terminal } = await chat();
    terminal.type("/mode plan\r");
    await terminal.shows("Mode: plan");
    terminal.type("plan\r");
    await terminal.shows(/The plan\n\n1\. Look\n2\. Leap/);
    await terminal.shows("Approve this plan?");
    terminal.type("look twice\r");
    await terminal.shows("Feedback: look twice");
    await terminal.isIdle();
    terminal.type("plan\r");
    await terminal.shows("Approve this plan?");
    terminal.type("y\r");
    await terminal.shows("The user approved the plan.");
    await terminal.shows("Mode: build");
    await terminal.isIdle();
    expect(terminal.status).toMatch(/^build · /);
  });

  it("stops the run with Ctrl-C and leaves with a second one", async () => {
    const { terminal } = await chat();
    terminal.type("work forever\r");
    await terminal.shows("… work");
    terminal.type(CTRL_C);
    await terminal.shows("Stopped.");
    await terminal.shows("Press Ctrl-C again to quit.");
    terminal.type("x");
    await terminal.shows(/─\nx\s/);
    terminal.type(CTRL_C);
    await terminal.shows((text) => count(text, "Press Ctrl-C again to quit.") === 2);
    terminal.type(UP);
    await terminal.shows(/─\nx\s/);
    terminal.type(DOWN);
    await terminal.shows(/─\n\s*\n─/);
    terminal.type("hello\r");
    await terminal.shows("You said: hello");
    await terminal.isIdle();
    terminal.type(CTRL_C);
    await terminal.shows((text) => count(text, "Press Ctrl-C again to quit.") === 3);
    terminal.type(CTRL_C);
    expect(await terminal.exit).toBe(0);
    expect(terminal.text()).toContain("Start the chat again to continue this session.");
    // The terminal is as it was: pasting and keys as usual, the cursor visible.
    expect(terminal.raw.lastIndexOf("\u001b[?2004l")).toBeGreaterThan(
      terminal.raw.lastIndexOf("\u001b[?2004h"),
    );
    expect(terminal.raw.lastIndexOf("\u001b[?25h")).toBeGreaterThan(terminal.raw.lastIndexOf("\u001b[?25l"));
  });

  it("continues next time where it was: mode, conversation, and a question that waits", async () => {
    const cwd = await newProject();
    const first = await start(cwd);
    await first.isIdle();
    first.type("/mode plan\r");
    await first.shows("Mode: plan");
    first.type("plan\r");
    await first.shows("Approve this plan?");
    first.type(CTRL_D);
    expect(await first.exit).toBe(0);
    const second = await start(cwd);
    await second.shows("Approve this plan?");
    expect(second.text()).toContain("1. Look");
    expect(second.status).toMatch(/^plan · /);
    second.type("y\r");
    await second.shows("The user approved the plan.");
    await second.isIdle();
    second.type(UP);
    await second.shows(/─\nplan\s/);
  });

  it("leaves while the agent works, and continues its run next time", async () => {
    const cwd = await newProject();
    const first = await start(cwd);
    await first.isIdle();
    first.type("work gate\r");
    await first.shows("… work");
    first.type(CTRL_D);
    expect(await first.exit).toBe(0);
    const second = await start(cwd);
    await second.shows("… work");
    await writeFile(join(cwd, "gate"), "");
    await second.shows('✓ work "gate"');
  });

  it("continues a run whose terminal was killed", { tags: ["long"] }, async () => {
    const cwd = await newProject();
    const first = await start(cwd);
    await first.isIdle();
    first.type("work gate\r");
    await first.shows("… work");
    first.type("and then this\r");
    await first.shows("> and then this (steering)");
    await first.stop();
    const second = await start(cwd);
    await second.shows("… work");
    await second.shows("working");
    await writeFile(join(cwd, "gate"), "");
    await second.shows("You said: and then this");
    await second.isIdle();
    const text = second.text({ all: true });
    expect(text).toContain('✓ work "gate"');
    for (const once of ["> work gate", "I am at work.", "> and then this"]) expect(count(text, once)).toBe(1);
  });

  it("shows the same in two terminals on one session", async () => {
    const cwd = await newProject();
    const one = await start(cwd);
    await one.isIdle();
    const two = await start(cwd);
    await two.isIdle();
    one.type("hello from one\r");
    await two.shows("> hello from one");
    await two.shows("You said: hello from one");
    two.type("edit\r");
    await one.shows("Allow edit_file");
    await two.shows("Allow edit_file");
    one.type("y\r");
    await two.shows("Result: {");
    await two.shows((text) => !text.includes("Allow edit_file"));
    two.type("/mode plan\r");
    await one.shows("Mode: plan");
    await one.shows(/plan · \d/);
    two.type("/new\r");
    await one.shows((text) => !text.includes("hello from one"));
  });

  it(
    "lets no escape sequence of a model, a tool or a message reach the terminal",
    { tags: ["long"] },
    async () => {
      const { terminal } = await chat();
      terminal.type("shout\r");
      await terminal.shows("red text,  and nothing cleared");
      await terminal.shows("Result:");
      await terminal.isIdle();
      terminal.type("/tool\r");
      await terminal.shows('"said"');
      expect(terminal.raw).not.toContain("a title\u0007");
      expect(terminal.raw).not.toContain("\u001b[31mtext");
      expect(terminal.raw).not.toContain("\u009b");
      expect(terminal.raw).not.toContain("\u001b[2J");
    },
  );

  it(
    "keeps what was in the terminal before, and all of the conversation, when the window changes its size",
    { tags: ["long"] },
    async () => {
      const { terminal } = await chat({ rows: 20 });
      terminal.type("lines 30\r");
      await terminal.shows("Paragraph 29.");
      await terminal.isIdle();
      terminal.resize(60, 15);
      await terminal.shows(/─{60}\n.*\n─{60}\n/);
      terminal.resize(100, 30);
      await terminal.shows(/─{100}\n.*\n─{100}\n/);
      terminal.type("still here\r");
      await terminal.shows("You said: still here");
      await terminal.isIdle();
      const text = terminal.text({ all: true });
      expect(text).toContain("Selvedge chat with desk");
      for (let index = 0; index < 30; index++) expect(text).toContain(`Paragraph ${index}.`);
      expect(terminal.raw).not.toContain("\u001b[3J");
    },
  );

  it("leaves every line of a long answer in the scrollback, once", { tags: ["long"] }, async () => {
    const { terminal } = await chat();
    terminal.type("lines 40\r");
    await terminal.shows("Paragraph 39.");
    await terminal.isIdle();
    terminal.type("code 150\r");
    await terminal.shows("The end.");
    await terminal.isIdle();
    const text = terminal.text({ all: true });
    for (let index = 0; index < 40; index++) expect(count(text, `Paragraph ${index}.`)).toBe(1);
    for (let index = 0; index < 150; index++) expect(count(text, `const line${index} =`)).toBe(1);
  });

  it("writes little for a word, so that it works over a slow connection", { tags: ["long"] }, async () => {
    const { terminal } = await chat();
    terminal.type("words 20\r");
    await terminal.shows("word19");
    await terminal.isIdle();
    const before = terminal.raw.length;
    terminal.type("words 1000\r");
    await terminal.shows("word999");
    await terminal.isIdle();
    // A frame draws the lines that changed, not the screen: 24 lines of 80 characters.
    expect((terminal.raw.length - before) / 1000).toBeLessThan(400);
  });

  it("has no colours with NO_COLOR", { tags: ["long"] }, async () => {
    const { terminal } = await chat({ env: { NO_COLOR: "1" } });
    terminal.type("markdown\r");
    await terminal.shows("│ 1    │ 2     │");
    terminal.type("edit\r");
    await terminal.shows("Allow edit_file");
    // The cursor is drawn by turning a character around (7), and lines end what they began (0).
    const styles = [...terminal.raw.matchAll(/\u001b\[([\d;]*)m/g)].map(([, codes]) => codes);
    expect([...new Set(styles)].toSorted()).toEqual(["0", "7"]);
  });

  it("writes lines without escape sequences with --plain, and steers, asks and stops there, too", async () => {
    const cwd = await newProject();
    const terminal = await start(cwd, ["chat", "--plain"]);
    await terminal.shows("/help lists the commands.");
    terminal.type("markdown\r");
    await terminal.shows("| 1 | 2 |");
    terminal.type("work gate\r");
    await terminal.shows('→ work "gate"');
    terminal.type("be quick\r");
    await terminal.shows("(steering: the agent reads it before its next step)");
    await writeFile(join(cwd, "gate"), "");
    await terminal.shows("You said: be quick");
    terminal.type("edit\r");
    await terminal.shows(/ {2}- two\n {2}\+ 2\n/);
    await terminal.shows("Allow edit_file to change a.txt?");
    terminal.type("y\r");
    await terminal.shows('← {"edited":"a.txt"}');
    terminal.type("pick\r");
    await terminal.shows("2. green");
    terminal.type("2\r");
    await terminal.shows("The user answered: green");
    terminal.type("work forever\r");
    await terminal.shows('→ work "forever"');
    terminal.type(CTRL_C);
    await terminal.shows("Stopped.");
    terminal.type(CTRL_C);
    expect(await terminal.exit).toBe(0);
    expect(terminal.raw).not.toMatch(/[\u001b\u009b\u0007]/);
  });

  it(
    "talks to every project: an agent without a controller, with what it asks for itself",
    { tags: ["long"] },
    async () => {
      const cwd = await newProject();
      const terminal = await start(cwd, ["chat"], { env: { LONE: "1" } });
      await terminal.isIdle();
      terminal.type("shout\r");
      await terminal.shows("✓ shout");
      await terminal.isIdle();
      expect(terminal.status).toMatch(/^writer · /);
    },
  );
});
