import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { assignTaskIds, keepOneInProgress, summarizeTaskCheck, type TaskItemInput } from "./task-list.ts";

const task = (content: string, id?: string, status: TaskItemInput["status"] = "pending"): TaskItemInput => ({
  content,
  status,
  activeForm: content,
  ...(id !== undefined && { id }),
});
const ids = (tasks: readonly { id?: string | undefined }[]) => tasks.map(({ id }) => id);

describe("assignTaskIds", () => {
  it("makes ids of the content, and tells equal ones apart", () => {
    expect(ids(assignTaskIds([task("Fix the bug!"), task("fix the bug"), task("???")]))).toEqual([
      "task_fix_the_bug",
      "task_fix_the_bug_2",
      "task_item",
    ]);
  });

  it("takes the ids that were given before it makes any", () => {
    expect(ids(assignTaskIds([task("a"), task("b", "task_a"), task("c", "task_a")]))).toEqual([
      "task_a_2",
      "task_a",
      "task_c",
    ]);
  });

  it("keeps the id of the only earlier task with the same content", () => {
    const previous = assignTaskIds([task("a", "1"), task("b", "2"), task("b", "3")]);
    expect(ids(assignTaskIds([task("b"), task("a")], previous))).toEqual(["task_b", "1"]);
  });

  it("gives every task an id of its own, whatever the model wrote", () => {
    const input = fc.array(
      fc.record({ content: fc.string(), id: fc.option(fc.string(), { nil: undefined }) }),
    );
    fc.assert(
      fc.property(input, input, (now, before) => {
        const make = (list: typeof now) => list.map(({ content, id }) => task(content, id));
        const result = assignTaskIds(make(now), assignTaskIds(make(before)));
        expect(new Set(ids(result)).size).toBe(now.length);
        for (const { id } of result) expect(id).not.toBe("");
      }),
    );
  });
});

describe("keepOneInProgress", () => {
  it("lets the last, or the one that was named, go on", () => {
    const tasks = assignTaskIds([task("a", "1", "in_progress"), task("b", "2", "in_progress")]);
    expect(keepOneInProgress(tasks).map(({ status }) => status)).toEqual(["pending", "in_progress"]);
    expect(keepOneInProgress(tasks, "1").map(({ status }) => status)).toEqual(["in_progress", "pending"]);
  });
});

describe("summarizeTaskCheck", () => {
  it("counts, and names what is left", () => {
    const tasks = assignTaskIds([task("a", "1", "completed"), task("b", "2", "in_progress")]);
    const { summary, incompleteTasks, content } = summarizeTaskCheck(tasks);
    expect(summary).toEqual({
      total: 2,
      completed: 1,
      inProgress: 1,
      pending: 0,
      incomplete: 1,
      hasTasks: true,
      allCompleted: false,
    });
    expect(ids(incompleteTasks)).toEqual(["2"]);
    expect(content).toContain("b (2)");
    expect(summarizeTaskCheck([]).summary.allCompleted).toBe(false);
  });
});
