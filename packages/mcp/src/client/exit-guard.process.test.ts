import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { isAlive } from "../__fixtures__/is-alive.ts";
import { scene } from "../__fixtures__/scene.ts";

const { open } = scene();
const fixture = (name: string) => fileURLToPath(new URL(`../__fixtures__/${name}`, import.meta.url));

/** A process with a server, and the pids of that server and of what it started. */
async function parent(end: string) {
  const folder = await mkdtemp(join(tmpdir(), "mcp-exit-"));
  open(() => rm(folder, { recursive: true }));
  const flags = ["--conditions=selvedge-source"];
  const program = JSON.stringify([...flags, fixture("stdio-server.ts"), join(folder, "notes")]);
  const child = spawn(process.execPath, [...flags, fixture("parent.ts"), program, end], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const exit = once(child, "exit");
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const told = JSON.parse(line.toString()) as number | number[];
  return { child, exit, pids: [told].flat() };
}

it.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
  "ends servers and what they started when this process is ended by %s, and lets the signal do its work",
  async (signal) => {
    const { child, exit, pids } = await parent("waits");
    expect(pids.map(isAlive)).toEqual([true, true]);
    child.kill(signal);
    expect(await exit).toEqual([null, signal]);
    await expect.poll(() => pids.map(isAlive)).toEqual([false, false]);
  },
);

it("leaves a signal to the application that handles it, and ends the servers all the same", async () => {
  const { child, exit, pids } = await parent("handled");
  child.kill("SIGTERM");
  expect(await exit).toEqual([7, null]);
  await expect.poll(() => pids.map(isAlive)).toEqual([false, false]);
});

it.each([
  ["exit", 3],
  ["throws", 1],
] as const)("ends servers when this process ends by itself (%s)", async (end, code) => {
  const { exit, pids } = await parent(end);
  expect(await exit).toEqual([code, null]);
  await expect.poll(() => pids.map(isAlive)).toEqual([false, false]);
});

it("ends a server that was still being connected to", async () => {
  const { child, exit, pids } = await parent("connecting");
  child.kill("SIGTERM");
  expect(await exit).toEqual([null, "SIGTERM"]);
  await expect.poll(() => pids.map(isAlive)).toEqual([false]);
});

it("leaves no server behind when the process is killed", async () => {
  const { child, exit, pids } = await parent("waits");
  child.kill("SIGKILL");
  await exit;
  // Nothing could be done any more: the server leaves because its input ends.
  await expect.poll(() => isAlive(pids[0]!)).toBe(false);
  if (isAlive(pids[1]!)) process.kill(pids[1]!, "SIGKILL");
});
