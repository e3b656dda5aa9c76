/*
 * What is evaluated in the page. Texts, because this program knows no DOM.
 */

/** The rows of a conversation: who, and what, tool calls included. What lanes said is left out. */
export const TRANSCRIPT: string = `[...document.querySelectorAll("[data-testid=message]:not([data-kind=state])")].map((row) => {
  const name = row.querySelector(".message-name")?.textContent;
  return name + ": " + row.querySelector(".message-body")?.innerText.replaceAll(/\\s+/g, " ").trim();
})`;

/** The controls that have no name for somebody who cannot see them. */
export const UNNAMED: string = `[...document.querySelectorAll("button, a, input, textarea, select")]
  .filter((control) => {
    const labels = [...(control.labels ?? [])].map((label) => label.textContent);
    return [control.getAttribute("aria-label"), control.textContent, ...labels].join("").trim() === "";
  })
  .map((control) => control.outerHTML)`;

/** How wide the page is, or what scrolls within it. */
export const PAGE_WIDTH: string =
  'Math.max(document.documentElement.scrollWidth, document.querySelector("main").scrollWidth)';

/** Drops one file on the page of a thread, and pastes another where a person writes. */
export const DROP_AND_PASTE: string = `(() => {
  const holding = (name) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File(["thread"], name, { type: "text/plain" }));
    return transfer;
  };
  const happens = { bubbles: true, cancelable: true };
  const page = document.querySelector(".conversation");
  for (const type of ["dragover", "drop"])
    page.dispatchEvent(new DragEvent(type, { ...happens, dataTransfer: holding("dropped.txt") }));
  const box = document.querySelector(".composer textarea");
  box.dispatchEvent(new ClipboardEvent("paste", { ...happens, clipboardData: holding("pasted.txt") }));
})()`;

/** Pictures in the conversation. */
export const IMAGES: string = 'document.querySelectorAll(".conversation img").length';

/** Goes to the top of what is loaded of a conversation, and says which row stands there and at what height. */
export const TO_TOP: string = `(() => {
  document.querySelector(".conversation").scrollTop = 0;
  const row = document.querySelector("[data-testid=message]");
  return { text: row.querySelector(".message-body").textContent, y: row.getBoundingClientRect().y };
})()`;

/** The height at which a row with these words stands. */
export const heightOf = (text: string): string => `[...document.querySelectorAll("[data-testid=message]")]
  .find((row) => row.querySelector(".message-body").textContent === ${JSON.stringify(text)})
  .getBoundingClientRect().y`;

const statesOf = (testId: string): string =>
  `Object.fromEntries([...document.querySelectorAll("[data-testid=${testId}]")].map((each) => [each.dataset.step, each.dataset.state]))`;

/** What the graph of a workflow run says about its steps. An open nested workflow is a frame, and has no entry. */
export const STATES_IN_GRAPH: string = statesOf("graph-step");

/** What the list beside the graph says. */
export const STATES_IN_LIST: string = statesOf("list-step");

/** Which step has the focus. */
export const FOCUSED_STEP: string =
  '(document.activeElement?.closest("[data-step]")?.dataset.step ?? "") + " " + (document.activeElement?.closest("[data-testid]")?.dataset.testid ?? "")';

/** Whether the graph shows a step of a workflow, without scrolling. */
export function isInGraph(key: string): string {
  return `(() => {
  const step = document.querySelector('[data-testid=graph-step][data-step="${key}"]').getBoundingClientRect();
  const view = document.querySelector(".wf-scroll").getBoundingClientRect();
  return step.left >= view.left && step.right <= view.right && step.top >= view.top && step.bottom <= view.bottom;
})()`;
}

/** Whether the first word of the page's heading is not cut off. */
export const HEADING_IS_WHOLE: string = `(() => {
  const { scrollWidth, clientWidth, offsetWidth } = document.querySelector("main h1 > :first-child");
  return offsetWidth > 20 && scrollWidth <= Math.max(clientWidth, offsetWidth);
})()`;
