import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent } from "@selvedge/core/agent";
import { LibSQLStore } from "@selvedge/libsql";
import { Memory } from "@selvedge/memory";
import { scriptedModel } from "@selvedge/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runCompactCommand } from "./compact-command.ts";

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "selvedge-"))));
afterEach(() => rmSync(folder, { recursive: true }));

describe("selvedge compact", () => {
  it("makes the file smaller and keeps the messages", async () => {
    const file = join(folder, "chat.db");
    const on = { memory: { thread: "t", resource: "r" } };
    const open = () => new LibSQLStore({ url: `file:${file}` });
    const storage = open();
    const model = scriptedModel(() => ({
      text: Array.from({ length: 2_000 }, (_, index) => `word${index} `),
    }));
    const agent = new Agent({ name: "a", instructions: "", model, memory: new Memory({ storage }) });
    for (let turn = 0; turn < 5; turn++) await agent.generate("hi", on);
    await agent.close();
    await storage.close();
    const before = statSync(file).size;
    expect(await runCompactCommand({ storage: file, olderThan: "0m" })).toBe(0);
    expect(statSync(file).size).toBeLessThan(before / 2);
    const again = open();
    const memory = (await again.getStore("memory"))!;
    expect((await memory.listMessages({ threadId: "t", perPage: false })).messages).toHaveLength(10);
    await again.close();
  });

  it("refuses an age it cannot read, and a file that is not there", async () => {
    const storage = join(folder, "none.db");
    await expect(runCompactCommand({ storage, olderThan: "7d" })).rejects.toThrow(
      `There is no file ${storage}.`,
    );
    await expect(runCompactCommand({ storage, olderThan: "soon" })).rejects.toThrow('or 7d, got "soon".');
  });
});
