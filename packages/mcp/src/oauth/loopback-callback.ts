import { createServer, type Server } from "node:http";
import { AgentError, type System } from "@selvedge/core";

const LOOPBACK = new Set(["127.0.0.1", "localhost", "[::1]"]);

/** Waits on this machine for the browser to return from the authorization server. */
export class LoopbackCallback {
  /** The query string of the callback request. */
  readonly query: Promise<URLSearchParams>;
  readonly #http: Server;
  #settle: { resolve(query: URLSearchParams): void; reject(error: Error): void };

  private constructor(http: Server, accepts: (query: URLSearchParams) => boolean, path: string) {
    this.#http = http;
    const { promise, resolve, reject } = Promise.withResolvers<URLSearchParams>();
    this.query = promise;
    // The promise may be left unawaited.
    promise.catch(() => {});
    this.#settle = { resolve, reject };
    http.on("request", (req, res) => {
      const url = new URL(req.url ?? "/", "http://localhost");
      const say = (status: number, text: string): void => {
        res.writeHead(status, { "content-type": "text/plain; charset=utf-8", connection: "close" }).end(text);
      };
      if (req.method !== "GET" || url.pathname !== path) return say(404, "Not found");
      // Any web page can send a browser here. Only the flow we started ends the wait.
      if (!accepts(url.searchParams)) return say(400, "This is not the expected sign-in response.");
      say(200, "Thank you. You can close this window.");
      resolve(url.searchParams);
      this.close();
    });
  }

  static async open(
    redirect: URL,
    accepts: (query: URLSearchParams) => boolean,
    { system, timeoutMs }: { system: System; timeoutMs: number },
  ): Promise<LoopbackCallback> {
    if (redirect.protocol !== "http:" || !LOOPBACK.has(redirect.hostname)) {
      throw new AgentError(
        "invalid-argument",
        `The redirect URL to listen on must be an http URL with a loopback address, got ${redirect.href}.`,
      );
    }
    const http = createServer();
    const callback = new LoopbackCallback(http, accepts, redirect.pathname);
    await new Promise<void>((resolve, reject) => {
      http.once("error", reject);
      http.listen(Number(redirect.port || 80), redirect.hostname.replace(/^\[|\]$/g, ""), resolve);
    });
    const cancel = system.setTimer(
      timeoutMs,
      () =>
        callback.close(
          new AgentError(
            "tool-timeout",
            `Sign-in timed out: the authorization server did not redirect back within ${timeoutMs / 1000} s.`,
          ),
        ),
      { background: true },
    );
    callback.query.then(cancel, cancel);
    return callback;
  }

  close(reason: Error = new AgentError("tool-aborted", "The sign-in was cancelled.")): void {
    this.#settle.reject(reason);
    this.#http.close();
  }
}
