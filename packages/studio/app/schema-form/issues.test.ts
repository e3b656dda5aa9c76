import { AgentError } from "@selvedge/client-js";
import { describe, expect, it } from "vitest";
import { toIssues, withoutIssuesAt } from "./issues.ts";

const refusal = new AgentError("tool-input-invalid", "No.", {
  details: {
    issues: [
      { path: ["lines", 0, "metres"], message: "Too small" },
      { path: ["lines", 0, "metres"], message: "Not whole" },
      { path: ["name"], message: "Missing" },
      { path: [], message: "Nothing fits" },
    ],
  },
});

describe("toIssues", () => {
  it("finds the issues of a refusal at their places", () => {
    expect([...toIssues(refusal)]).toEqual([
      ["lines.0.metres", "Too small Not whole"],
      ["name", "Missing"],
      ["", "Nothing fits"],
    ]);
  });

  it("finds none in other errors, whatever they carry", () => {
    for (const details of [undefined, {}, { issues: "x" }, { issues: [1, "x"] }]) {
      const error = new AgentError("internal", "No.", details && { details });
      expect([...toIssues(error).keys()].filter((path) => path !== "")).toEqual([]);
    }
  });
});

describe("withoutIssuesAt", () => {
  it("forgets what was said of a value that changed, and of what is in it", () => {
    const issues = toIssues(refusal);
    expect([...withoutIssuesAt(issues, "lines").keys()]).toEqual(["name", ""]);
    expect([...withoutIssuesAt(issues, "line").keys()]).toEqual(["lines.0.metres", "name", ""]);
    expect([...withoutIssuesAt(issues, "").keys()]).toEqual([]);
  });
});
