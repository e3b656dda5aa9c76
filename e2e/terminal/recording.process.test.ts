import { expect, it } from "vitest";
import { recordPages } from "./recording.ts";
import { findPty } from "./test-terminal.ts";

const pty = await findPty();
if ("missing" in pty) console.warn(`skipped: the recorded terminals of the docs: ${pty.missing}`);

it.skipIf("missing" in pty)(
  "shows in the docs what a terminal shows (npm run record writes it)",
  { tags: ["long"] },
  async () => {
    for (const { before, after } of await recordPages()) expect(before).toBe(after);
  },
);
