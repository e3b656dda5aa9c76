import { expect, test } from "vitest";
import { handlerOf, hostWith } from "./__fixtures__/served-agent.ts";
import { MastraClient } from "./mastra-client.ts";

test("creates, changes, fires and deletes a schedule", async () => {
  const host = hostWith(["First.", "Second."]);
  const { fetch } = handlerOf(host);
  const client = new MastraClient({
    baseUrl: "http://localhost",
    fetch: (url, init) => fetch(new Request(url as string, init)),
  });
  const made = await client.createSchedule({
    id: "yearly",
    agentId: host.agent.id,
    prompt: "Report the year.",
    cron: "0 0 1 1 *",
    timezone: "Europe/Berlin",
    threadId: "t1",
    resourceId: "ann",
  });
  expect(made).toMatchObject({ id: "yearly", status: "active", declared: false });
  expect(await client.getSchedule("yearly")).toEqual(made);
  expect((await client.listSchedules({ agentId: host.agent.id })).schedules).toEqual([made]);
  expect(await client.pauseSchedule("yearly")).toMatchObject({ status: "paused" });
  expect((await client.listSchedules({ status: "active" })).schedules).toEqual([]);
  const fired = await client.runSchedule("yearly");
  expect(await client.listScheduleTriggers("yearly", { limit: 1 })).toMatchObject({
    triggers: [{ id: fired.claimId, triggerKind: "manual", outcome: "published", runId: fired.runId }],
  });
  expect(await client.resumeSchedule("yearly")).toMatchObject({ nextFireAt: made.nextFireAt });
  expect(await client.updateSchedule("yearly", { prompt: "Other." })).toMatchObject({ prompt: "Other." });
  expect(await client.deleteSchedule("yearly")).toEqual({ success: true });
  await expect(client.getSchedule("yearly")).rejects.toMatchObject({ code: "not-found" });
});
