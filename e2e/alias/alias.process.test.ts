import { execFile } from "node:child_process";
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { installAliased } from "./install.ts";

const run = promisify(execFile);
const PROGRAM = fileURLToPath(new URL("./program.mjs", import.meta.url));

test(
  "packages under an alias work together with those under their own name: two copies of the core in one process",
  { tags: ["long"] },
  async () => {
    const { folder, remove } = await installAliased();
    try {
      const program = join(folder, "program.mjs");
      await copyFile(PROGRAM, program);
      const { stdout } = await run(process.execPath, [program, join(folder, "store.db")], { cwd: folder });
      expect(JSON.parse(stdout)).toEqual({
        copies: { agents: true, hosts: true, isKnownThere: true },
        add: [{ sum: 5 }],
        shout: ["HEY"],
        remembers: true,
        instructions: true,
        mcpTools: ["tools_add", "tools_ask_weaver", "tools_shout"],
        overMcp: true,
        missing: 404,
        approved: true,
        atOnce: 1,
        messages: 16,
        toldOfQueue: true,
        queued: 1,
        finished: 2,
        forgotten: true,
      });
    } finally {
      await remove();
    }
  },
);
