import { expect, test } from "vitest";
import { handlerOf, hostWith } from "./__fixtures__/served-agent.ts";
import { MastraClient } from "./mastra-client.ts";

test("stores scores and lists them by scorer, run and entity", async () => {
  const { fetch } = handlerOf(hostWith(["Hello."]));
  const client = new MastraClient({
    baseUrl: "http://localhost",
    fetch: (url, init) => fetch(new Request(url as string, init)),
  });
  const about = { scorerId: "brief", runId: "run/1", entityId: "helper" };
  const given = { ...about, entityType: "AGENT", source: "TEST", score: 0.5 } as const;
  const { score } = await client.saveScore({ score: { ...given, reason: "Short." } });
  expect(score).toMatchObject({ ...given, reason: "Short.", createdAt: expect.any(String) });
  const { scorerId, runId, entityId } = about;
  for (const found of [
    await client.listScoresByScorerId({ scorerId, entityId, perPage: 1 }),
    await client.listScoresByRunId({ runId, page: 0, perPage: 1 }),
    await client.listScoresByEntityId({ entityId, entityType: "AGENT", perPage: 1 }),
  ])
    expect(found).toEqual({
      scores: [score],
      pagination: { total: 1, page: 0, perPage: 1, hasMore: false },
    });
  expect((await client.listScoresByRunId({ runId: "other" })).scores).toEqual([]);
  expect(await client.listScorers()).toEqual({});
  await expect(client.getScorer("none")).rejects.toMatchObject({ code: "not-found" });
});
