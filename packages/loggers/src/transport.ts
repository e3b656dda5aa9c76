import { Transform, type Writable } from "node:stream";

/** A destination for records. A subclass gets each as a line of JSON. */
export abstract class LoggerTransport extends Transform {
  /** Writes what waits. */
  flush?(): Promise<void>;
}

/** Passes records to a transport. One that fails must not take the app with it. */
export function toDestination(transport: LoggerTransport): Writable {
  transport.on("error", (error) => console.error("[selvedge] A log transport failed", error));
  // Nothing reads the output of a transport.
  transport.resume();
  return transport;
}
