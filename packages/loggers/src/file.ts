import { createWriteStream, type WriteStream } from "node:fs";
import type { TransformCallback } from "node:stream";
import { AgentError } from "@selvedge/core/errors";
import { LoggerTransport } from "./transport.ts";

/** Appends records to a file. */
export class FileTransport extends LoggerTransport {
  readonly path: string;
  readonly #file: WriteStream;

  constructor({ path }: { path: string }) {
    super();
    if (typeof path !== "string" || path === "")
      throw new AgentError("invalid-argument", "FileTransport needs a path.");
    this.path = path;
    this.#file = createWriteStream(path, { flags: "a" });
    this.#file.on("error", (error) => this.destroy(error));
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    // Waits where the disk is slower than the app.
    this.#file.write(chunk, (error) => done(error ?? null, error ? undefined : chunk));
  }

  override _flush(done: TransformCallback): void {
    this.#file.end(done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#file.destroy();
    done(error);
  }
}
