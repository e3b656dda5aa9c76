import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { running } from "./block-set-up.ts";
import { supportClient } from "./client-fixtures.ts";
import { CALLED, readBy } from "./thread-fixtures.ts";

interface Printed {
  seq: number;
  type: string;
}

/** The block of document 2 about the client, against a real server on loopback. */
export const clientBlocks = {
  "2-use-the-client-sdk-1": running({
    hash: "3bdde035",
    wrap: CALLED,
    given: supportClient,
    run: async ({ documented }: { documented: () => Promise<void> }, { model, lines, close }) => {
      // It follows the thread until it is told to stop.
      const following = documented().catch((error: unknown) => error);
      const printed = () => lines.map(([chunk]) => chunk as Printed);
      for (let turn = 0; turn < 2000 && printed().at(-1)?.type !== "finish"; turn++) await sleep(5);
      await close();
      await following;
      assert.deepEqual(readBy(model, 0), ["Show the shorter version."]);
      assert.deepEqual(
        printed().map(({ seq }) => seq),
        printed().map((_, index) => index + 1),
      );
    },
  }),
};
