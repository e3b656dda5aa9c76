import type { UseWorkflowRunResult } from "@selvedge/react";

/** What a person can do with a run. Everything resolves when it is stored; the events follow. */
export type RunDoer = Pick<UseWorkflowRunResult, "resume" | "cancel" | "timeTravel">;
