import { createElement, type ReactNode, StrictMode } from "react";
import { createRoot } from "react-dom/client";

export interface Rendered<Value> {
  /** The hook's result in the last committed render. */
  readonly current: Value;
  /** The hook's result in every render, newest last. */
  readonly all: readonly Value[];
  rerender(): void;
  unmount(): void;
}

/** Uses a hook in a real page, in strict mode. */
export function renderHook<Value>(
  hook: () => Value,
  wrap: (children: ReactNode) => ReactNode = (children) => children,
): Rendered<Value> {
  const all: Value[] = [];
  const { document } = globalThis as unknown as { document: { createElement(name: string): Element } };
  const root = createRoot(document.createElement("div"));
  function Probe(): ReactNode {
    all.push(hook());
    return null;
  }
  const render = () => root.render(createElement(StrictMode, null, wrap(createElement(Probe))));
  render();
  return {
    get current() {
      if (all.length === 0) throw new Error("Nothing was rendered yet.");
      return all.at(-1) as Value;
    },
    all,
    rerender: render,
    unmount: () => root.unmount(),
  };
}
