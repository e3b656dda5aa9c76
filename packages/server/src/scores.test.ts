import { createScorer } from "@selvedge/core/evals";
import { describe, expect, test } from "vitest";
import { byHeader, served } from "./__fixtures__/served.ts";

const brief = createScorer({ id: "brief", description: "Short answers score high.", type: "agent" })
  .generateScore(() => 0.5)
  .generateReason(({ run }) => run.input!.systemMessages[0]!.content);

const params = { agentId: "helper" };
const sampling = { type: "ratio", rate: 1 } as const;

describe("scores over HTTP", () => {
  test("are of the caller's own runs, and without what was scored unless it may inspect", async () => {
    const { json, agent } = served(() => "Yes.", {
      authorize: byHeader,
      agent: { scorers: { brief: { scorer: brief, sampling } } },
    });
    for (const user of ["ann", "bob"])
      await json("generate", { params, body: { messages: "?", memory: { thread: user } } }, user);
    await agent.close();
    const list = (as: string) =>
      json("listScoresByEntityId", { params: { entityType: "AGENT", entityId: "helper" } }, as);
    const own = await list("ann");
    expect(own.pagination).toEqual({ total: 1, page: 0, perPage: 100, hasMore: false });
    expect(own.scores).toEqual([
      {
        id: expect.any(String),
        scorerId: "brief",
        runId: expect.any(String),
        entityId: "helper",
        entityType: "AGENT",
        source: "LIVE",
        score: 0.5,
        threadId: "ann",
        resourceId: "ann",
        createdAt: expect.any(String),
      },
    ]);
    const { runId } = own.scores[0]!;
    expect((await json("listScoresByRunId", { params: { runId } }, "ann")).scores).toEqual(own.scores);
    expect((await json("listScoresByRunId", { params: { runId } }, "bob+inspect")).scores).toEqual([]);
    const query = { resourceId: "ann", entityId: "helper", perPage: 1 };
    const ofBob = await json("listScoresByScorerId", { params: { scorerId: "brief" }, query }, "bob");
    expect(ofBob.scores).toMatchObject([{ resourceId: "bob" }]);
    expect((await list("ann+inspect")).scores).toMatchObject([
      { reason: "A secret instruction.", output: [{ role: "assistant" }] },
    ]);
  });

  test("are stored for whom the authoriser names, whatever the request says", async () => {
    const { json } = served([], { authorize: byHeader });
    const score = { scorerId: "hand", runId: "r", entityId: "helper", source: "TEST" as const, score: 1 };
    const body = { score: { ...score, reason: "Good.", resourceId: "bob" } };
    const saved = await json("saveScore", { body }, "ann+control,inspect");
    expect(saved.score).toMatchObject({ ...score, entityType: "AGENT", reason: "Good.", resourceId: "ann" });
    const list = (as: string) => json("listScoresByScorerId", { params: { scorerId: "hand" } }, as);
    expect((await list("ann+inspect")).scores).toEqual([saved.score]);
    expect((await list("bob+inspect")).scores).toEqual([]);
  });

  test("are all there where nobody is identified, or those of a resource", async () => {
    const { json, storage } = served([]);
    const scores = (await storage.getStore("scores"))!;
    const of = { scorerId: "s", runId: "r", entityId: "a", entityType: "STEP", source: "LIVE" as const };
    for (const resourceId of ["ann", "bob"]) await scores.saveScore({ ...of, resourceId, score: 1 });
    const total = async (query = {}) =>
      (await json("listScoresByRunId", { params: { runId: "r" }, query })).pagination.total;
    expect([await total(), await total({ resourceId: "ann" })]).toEqual([2, 1]);
  });

  test("name the scorers of agents without the prompts of their judges", async () => {
    const judged = createScorer({
      id: "judged",
      description: "Asks.",
      judge: { model: "some/model", instructions: "A secret prompt." },
    });
    const { json, call } = served([], {
      authorize: byHeader,
      agent: { scorers: { brief: { scorer: brief, sampling }, judged: { scorer: judged } } },
    });
    const all = await json("listScorers", {}, "ann");
    expect(all["brief"]).toEqual({
      scorer: {
        config: { id: "brief", name: "brief", description: "Short answers score high.", type: "agent" },
      },
      sampling,
      agentIds: ["helper"],
      agentNames: ["Helper"],
      workflowIds: [],
      isRegistered: false,
      source: "code",
    });
    expect(JSON.stringify(all)).not.toContain("secret");
    const one = { params: { scorerId: "judged" } };
    expect(await json("getScorer", one, "ann")).toEqual(all["judged"]);
    expect((await call("getScorer", { params: { scorerId: "toString" } }, "ann")).status).toBe(404);
  });
});
