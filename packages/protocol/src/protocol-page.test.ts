import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ERROR_CODES } from "./error-codes.ts";
import { SIGNAL_TYPES } from "./signal-type.ts";
import { payloadTypes } from "./schemas.ts";

const page = readFileSync(new URL("../../../PROTOCOL.md", import.meta.url), "utf8");

describe("PROTOCOL.md", () => {
  it("lists every error code with its status", () => {
    const rows = [...page.matchAll(/^\| `([\w-]+)` \| (\d{3}) \| (yes|no) \|$/gm)].map((match) =>
      match.slice(1),
    );
    const table = Object.entries(ERROR_CODES).map(([code, { status, retryable }]) => [
      code,
      String(status),
      retryable ? "yes" : "no",
    ]);
    expect(rows).toEqual(table);
  });

  it("lists every chunk type", () => {
    const chunks = page.slice(page.indexOf("## Chunks"), page.indexOf("## Offsets"));
    const types = [...chunks.matchAll(/^\| `([\w-]+)` \|/gm)].map((match) => match[1]);
    expect(types).toEqual(expect.arrayContaining([...payloadTypes]));
  });
});

describe("docs/threads.md", () => {
  it.each(SIGNAL_TYPES)("describes the signal type %s", (type) => {
    const page = readFileSync(new URL("../../../docs/threads.md", import.meta.url), "utf8");
    expect(page).toContain(`\n| \`${type}\` |`);
  });
});
