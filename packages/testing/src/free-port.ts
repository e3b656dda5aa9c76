import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** Systems choose the port of an outgoing connection from a range above this. */
const BELOW = 32_768;
const FROM = 10_000;
const ATTEMPTS = 100;

/**
 * A free port of the loopback, for a server that starts later or restarts. The system does not give it to an outgoing
 * connection in the meantime, which it may do with a port that it chose itself.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const port = randomInt(FROM, BELOW);
    const probe = createServer();
    try {
      await once(probe.listen(port, "127.0.0.1"), "listening");
    } catch (error) {
      if (attempt === ATTEMPTS) throw error;
      continue;
    }
    probe.close();
    await once(probe, "close");
    return port;
  }
}
