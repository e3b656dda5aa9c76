import { WORKFLOW_DOMAIN } from "@selvedge/core/workflows";

/** The tables of workflow runs. */
export const WORKFLOW_TABLES = WORKFLOW_DOMAIN.tables;
