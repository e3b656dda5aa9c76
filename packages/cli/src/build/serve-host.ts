import { type RunningServer, serve, type ServeOptions } from "@selvedge/server/node";

/** How long requests and runs may take to end before the process ends anyway. */
const CLOSE_MS = 20_000;

/**
 * Serves a host until the process is asked to end. A copy of this file is in every folder that `selvedge build` writes, so it
 * imports nothing but the server.
 */
export async function serveHost(mastra: ServeOptions["mastra"]): Promise<void> {
  const server = await serve({
    mastra,
    port: portFrom(process.env["PORT"]),
    hostname: process.env["HOST"] || undefined,
  });
  closeOnSignals(server, mastra, CLOSE_MS);
  console.log(`Selvedge is at ${server.url}`);
}

/** On SIGTERM and SIGINT, closes the server, then the host, and ends the process. Returns what the signals call. */
export function closeOnSignals(
  server: RunningServer,
  mastra: ServeOptions["mastra"],
  limitMs: number,
): () => void {
  let closing: Promise<void> | undefined;
  const close = (): void => {
    setTimeout(() => process.exit(1), limitMs).unref();
    closing ??= server
      .close()
      .then(() => mastra.close())
      .then(
        () => process.exit(0),
        (error: unknown) => {
          console.error(error);
          process.exit(1);
        },
      );
  };
  process.on("SIGTERM", close);
  process.on("SIGINT", close);
  return close;
}

function portFrom(text: string | undefined): number | undefined {
  if (!text) return undefined;
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new TypeError(`PORT must be a number from 0 to 65535, got ${JSON.stringify(text)}.`);
}
