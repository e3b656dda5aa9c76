import { expect, it } from "vitest";
import { guardFetch } from "./guard-fetch.ts";

const reached = async (from: string, to: string): Promise<string> => {
  const guarded = guardFetch(
    new URL(from),
    async (input) => new Response(`reached ${new URL(input).origin}`),
  );
  return (await guarded(to)).text();
};

// Addresses of documentation, which nobody has.
const PUBLIC = "http://192.0.2.7/mcp";

it.each([
  "http://127.0.0.1/",
  "http://10.0.0.1/",
  "http://169.254.169.254/",
  "http://[::1]/",
  "http://[fd00::1]/",
  "http://[::ffff:10.0.0.1]/",
])("does not let a public server lead to %s", async (target) => {
  await expect(reached(PUBLIC, target)).rejects.toThrow(/points to the private address/);
});

it("goes where it was told to, and from there to public addresses", async () => {
  expect(await reached("http://127.0.0.1:3000/mcp", "http://127.0.0.1:3000/mcp")).toMatch(/^reached/);
  expect(await reached("http://127.0.0.1:3000/mcp", "http://127.0.0.1:4000/authorize")).toMatch(/^reached/);
  expect(await reached(PUBLIC, "http://198.51.100.9/authorize")).toMatch(/^reached/);
});
