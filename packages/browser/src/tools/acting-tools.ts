import { AgentError, errorMessage } from "@selvedge/core/errors";
import type { Locator } from "playwright-core";
import { MAX_TEXT, pageText } from "../page-text.ts";
import type { DialogAnswer, ThreadSession, WaitUntil } from "../thread-session.ts";
import { fault } from "../tool-fault.ts";
import { within } from "../within.ts";
import { type BrowserTool, fields, MODIFIERS, REF, TEXT, TIMEOUT, WAIT_UNTIL } from "./browser-tool.ts";

type Modifier = "Alt" | "Control" | "ControlOrMeta" | "Meta" | "Shift";

export const clickTool: BrowserTool<{
  ref: string;
  button?: "left" | "right" | "middle";
  clickCount?: number;
  modifiers?: Modifier[];
  waitUntil?: WaitUntil;
  timeout?: number;
}> = {
  name: "browser_click",
  description: "Click an element.",
  category: "execute",
  inputSchema: fields(
    { ref: REF },
    {
      button: { type: "string", enum: ["left", "right", "middle"] },
      clickCount: { type: "integer", minimum: 1, maximum: 3 },
      modifiers: MODIFIERS,
      waitUntil: WAIT_UNTIL,
      timeout: TIMEOUT,
    },
  ),
  async run(call, { ref, waitUntil, ...options }) {
    const timeout = options.timeout ?? call.timeout;
    const element = await call.session.element(ref);
    const wait = { ...(waitUntil && { waitUntil }), timeout };
    await call.session.act(() => element.click({ ...options, timeout }), wait);
    return {};
  },
};

export const typeTool: BrowserTool<{ ref: string; text: string; clear?: boolean; delay?: number }> = {
  name: "browser_type",
  description: "Type text into a field. With clear, the text replaces the current one.",
  category: "execute",
  inputSchema: fields(
    { ref: REF, text: { type: "string", maxLength: 100_000 } },
    {
      clear: { type: "boolean" },
      delay: { type: "integer", minimum: 0, maximum: 1000, description: "Milliseconds between keys." },
    },
  ),
  async run({ session, timeout }, { ref, text, clear = false, delay }) {
    const field = await session.element(ref);
    await session.act(async () => {
      if (clear && !delay) return field.fill(text, { timeout });
      if (clear) await field.fill("", { timeout });
      return field.pressSequentially(text, { timeout, ...(delay !== undefined && { delay }) });
    });
    return {};
  },
};

export const pressTool: BrowserTool<{
  key: string;
  modifiers?: Modifier[];
  waitUntil?: WaitUntil;
  timeout?: number;
}> = {
  name: "browser_press",
  description: 'Press a key, such as "Enter", "Escape" or "a".',
  category: "execute",
  inputSchema: fields(
    { key: { type: "string", maxLength: 40 } },
    { modifiers: MODIFIERS, waitUntil: WAIT_UNTIL, timeout: TIMEOUT },
  ),
  async run({ session, system, timeout }, { key, modifiers = [], ...options }) {
    const page = await session.page();
    const ms = options.timeout ?? timeout;
    const press = () => within(system, ms, page.keyboard.press([...modifiers, key].join("+")));
    await session.act(press, { ...options, timeout: ms });
    return {};
  },
};

export const selectTool: BrowserTool<{ ref: string; value?: string; label?: string; index?: number }> = {
  name: "browser_select",
  description: "Choose an option in a select field by value, label or index.",
  category: "execute",
  inputSchema: fields({ ref: REF }, { value: TEXT, label: TEXT, index: { type: "integer", minimum: 0 } }),
  async run({ session, timeout }, { ref, ...option }) {
    if (Object.keys(option).length !== 1)
      throw fault("invalid-input", "Pass exactly one of value, label and index.", "Call it again with one.");
    const field = await session.element(ref);
    await session.act(() => field.selectOption(option, { timeout }));
    return {};
  },
};

export const dialogTool: BrowserTool<{ triggerRef: string; action: "accept" | "dismiss"; text?: string }> = {
  name: "browser_dialog",
  description:
    "Click an element that opens an alert, confirm or prompt dialog, and answer the dialog. Other dialogs are dismissed.",
  category: "execute",
  inputSchema: fields(
    { triggerRef: REF, action: { type: "string", enum: ["accept", "dismiss"] } },
    { text: { type: "string", description: "The answer to a prompt." } },
  ),
  async run({ session, timeout }, { triggerRef, action, text }) {
    const trigger = await session.element(triggerRef);
    const answer: DialogAnswer = { action, text };
    await session.answering(answer, () => session.act(() => trigger.click({ timeout })));
    if (!answer.seen)
      throw fault("no-dialog", "The element was clicked, but no dialog opened.", "Take a new snapshot.");
    return { dialog: answer.seen.type, ...pageText((await session.page()).url(), answer.seen.message) };
  },
};

export const dragTool: BrowserTool<{
  sourceRef?: string;
  targetRef?: string;
  sourceSelector?: string;
  targetSelector?: string;
}> = {
  name: "browser_drag",
  description: "Drag one element onto another. Name each by ref, or by CSS selector.",
  category: "execute",
  inputSchema: fields({}, { sourceRef: REF, targetRef: REF, sourceSelector: TEXT, targetSelector: TEXT }),
  async run({ session, timeout }, { sourceRef, targetRef, sourceSelector, targetSelector }) {
    const source = await locate(session, sourceRef, sourceSelector);
    const target = await locate(session, targetRef, targetSelector);
    await session.act(() => source.dragTo(target, { timeout }));
    return {};
  },
};

async function locate(session: ThreadSession, ref?: string, selector?: string): Promise<Locator> {
  if (ref !== undefined) return session.element(ref);
  if (selector !== undefined) return (await session.page()).locator(selector).first();
  throw fault("invalid-input", "Pass a ref or a selector for both elements.", "Call it again with both.");
}

export const evaluateTool: BrowserTool<{ script: string; arg?: unknown }> = {
  name: "browser_evaluate",
  description:
    "Run JavaScript in the page: an expression, a function of arg, or statements with return. The result must be JSON.",
  category: "execute",
  asks: true,
  inputSchema: fields({ script: { type: "string", maxLength: 100_000 } }, { arg: {} }),
  async run({ session, system, timeout }, { script, arg }) {
    const page = await session.page();
    const evaluate = (body: string) => within(system, timeout, page.evaluate<string>(wrap(body, arg)));
    try {
      const text = await evaluate(`(${script}\n)`).catch((error: unknown) => {
        if (!/SyntaxError/.test(errorMessage(error))) throw error;
        return evaluate(`(async (arg) => {${script}\n})`);
      });
      return pageText(page.url(), text);
    } catch (error) {
      if (session.hasCrashed || page.isClosed()) throw error;
      if (AgentError.is(error)) {
        // The script cannot be stopped in any other way.
        await session.dropPage();
        throw error;
      }
      const message = errorMessage(error).split("\n")[0]!.slice(0, 300);
      throw fault("script-failed", message, "Fix the script.");
    }
  },
};

/** Makes the result text in the page, so that a large one is not sent. */
function wrap(body: string, arg: unknown): string {
  return `(async (arg) => {
    let result = await ${body};
    if (typeof result === "function") result = await result(arg);
    const text = JSON.stringify(result) ?? "undefined";
    return text.length > ${4 * MAX_TEXT} ? text.slice(0, ${4 * MAX_TEXT}) : text;
  })(${JSON.stringify(arg) ?? ""})`;
}
