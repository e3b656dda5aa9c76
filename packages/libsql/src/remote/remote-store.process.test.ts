import { testStore } from "@selvedge/testing/suites";
import { describe, expect, it } from "vitest";
import { SqldServer, sqldMissing } from "../__fixtures__/sqld-server.ts";
import { LibSQLStore } from "../libsql-store.ts";

if (sqldMissing !== undefined) console.warn(`skipped: remote libSQL databases: ${sqldMissing}`);

describe.skipIf(sqldMissing !== undefined)("a libSQL server", () => {
  for (const scheme of ["http", "ws"] as const)
    testStore(`LibSQLStore over ${scheme}`, async () => {
      const server = await SqldServer.start();
      const open = (): LibSQLStore => new LibSQLStore({ url: server.url(scheme), pollMs: 20 });
      const storage = open();
      return {
        storage,
        reopen: async () => open(),
        connect: async () => open(),
        close: async () => {
          await storage.close();
          await server.stop();
        },
      };
    });

  it("finds the words of messages that were added or changed since the last search", async () => {
    const server = await SqldServer.start();
    const storage = new LibSQLStore({ url: server.url() });
    const domain = (await storage.getStore("memory"))!;
    const createdAt = new Date(0);
    await domain.saveThread({ thread: { id: "t", resourceId: "r", createdAt, updatedAt: createdAt } });
    const say = (id: string, text: string): Promise<unknown> =>
      domain.saveMessages({
        messages: [
          {
            id,
            role: "user",
            createdAt,
            threadId: "t",
            resourceId: "r",
            content: { format: 2, parts: [{ type: "text", text }] },
          },
        ],
      });
    const found = async (text: string): Promise<string[]> =>
      (await domain.searchMessages({ text, resourceId: "r" })).map(({ id }) => id);
    for (let at = 0; at < 45; at++) await say(`hay ${at}`, `some hay ${at}`);
    await say("needle", "a needle");
    expect(await found("needle")).toEqual(["needle"]);
    await say("hay 7", "another needle");
    await say("needle", "no longer");
    expect(await found("needle")).toEqual(["hay 7"]);
    expect(await found("longer")).toEqual(["needle"]);
    await storage.close();
    await server.stop();
  });
});
