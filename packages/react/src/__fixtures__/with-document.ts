import { Window } from "happy-dom";
import { afterAll, beforeAll } from "vitest";

/**
 * Gives the tests of a file a document, and takes it away after them: other files share the process. Fetch and streams
 * stay those of Node, which the server uses too.
 */
export function withDocument(): void {
  const global = globalThis as { window?: unknown; document?: unknown };
  let window: Window;
  beforeAll(() => {
    window = new Window({ url: "http://localhost/" });
    Object.assign(global, { window, document: window.document });
  });
  afterAll(async () => {
    // React's last work is done in turns of its own.
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
    delete global.window;
    delete global.document;
    await window.happyDOM.close();
  });
}
