import assert from "node:assert/strict";
import { running } from "./block-set-up.ts";

/** The block of document 2 about custom endpoints: a body like ours, with timers that are turned by hand. */
export const serverBlocks = {
  "2-keep-custom-sse-subscriptions-alive-1": running({
    hash: "44d41207",
    given: () => {
      const timers = new Map<number, { callback: () => void; ms: number }>();
      const abort = new AbortController();
      let controller!: ReadableStreamDefaultController<Uint8Array>;
      const body = new ReadableStream<Uint8Array>({ start: (made) => void (controller = made) });
      return {
        setInterval: (callback: () => void, ms: number) => {
          timers.set(timers.size + 1, { callback, ms });
          return timers.size;
        },
        clearInterval: (id: number) => void timers.delete(id),
        controller,
        encoder: new TextEncoder(),
        request: new Request("http://localhost/", { signal: abort.signal }),
        body,
        timers,
        abort,
      };
    },
    run: async (_: unknown, { timers, body, abort, request }) => {
      const [timer] = timers.values();
      assert.equal(timer?.ms, 25_000);
      timer.callback();
      const { value } = await body.getReader().read();
      assert.equal(new TextDecoder().decode(value), ": keep-alive\n\n");
      abort.abort();
      assert.equal(request.signal.aborted, true);
      assert.equal(timers.size, 0);
    },
  }),
};
