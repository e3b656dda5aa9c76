// Runs `npm start` as a newcomer does, waits for its page and its agents, and stops it. Plain JavaScript, because it runs
// before anything is installed, on whatever Node the machine has.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";

const WITHIN_MS = 180_000;

const server = createServer().listen(0, "127.0.0.1");
await once(server, "listening");
const { port } = server.address();
server.close();

const start = performance.now();
const npm = spawn("npm", ["start", "--", "--port", String(port)], {
  // A group of its own, so that npm's children end with it.
  detached: true,
  stdio: ["ignore", "inherit", "inherit"],
});
let ended = false;
npm.on("exit", () => (ended = true));

async function get(path) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`);
  if (!response.ok) throw new Error(`${path} answers ${response.status}`);
  return response.text();
}

try {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 250));
    if (ended) throw new Error("npm start ended by itself");
    if (performance.now() - start > WITHIN_MS)
      throw new Error(`npm start is not there after ${WITHIN_MS} ms`);
    if (await get("/health").catch(() => undefined)) break;
  }
  const [page, agents] = [await get("/"), await get("/api/agents")];
  if (!page.includes("<script")) throw new Error("/ is not the studio");
  if (!agents.includes('"assistant"')) throw new Error("there is no agent");
  console.log(`npm start serves the studio after ${((performance.now() - start) / 1000).toFixed(1)} s`);
} finally {
  if (!ended) process.kill(-Number(npm.pid), "SIGTERM");
}
