import { Window } from "happy-dom";
import { afterAll, beforeAll } from "vitest";

/**
 * Provides a document for the tests of a file and removes it afterwards: other files share the process. Fetch and
 * streams stay those of Node, which the server uses too.
 */
export function withDocument(): void {
  const global = globalThis as { window?: unknown; document?: unknown };
  let window: Window;
  beforeAll(() => {
    window = new Window({ url: "http://localhost/" });
    Object.assign(global, { window, document: window.document });
  });
  afterAll(async () => {
    // React finishes its work in later turns of the event loop.
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
    delete global.window;
    delete global.document;
    await window.happyDOM.close();
  });
}
