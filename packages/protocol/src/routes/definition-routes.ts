import { routesOf } from "./route.ts";
import { anyObject, id, list, object, only, openObject, optional, text, time } from "./shape.ts";
import * as shapes from "./shapes.ts";

const definitions = routesOf("workflow-definitions");

const jsonSchema = anyObject("A JSON Schema");

const fields = {
  id: id(),
  description: optional(text({ maxLength: 10_000 })),
  inputSchema: jsonSchema,
  outputSchema: jsonSchema,
  stateSchema: optional(jsonSchema),
  requestContextSchema: optional(jsonSchema),
  metadata: optional(shapes.metadata),
  graph: list(
    anyObject("An entry: agent, tool, workflow, mapping, parallel, conditional, foreach, loop, sleep"),
    {
      maxItems: 1000,
    },
  ),
};

export const workflowDefinition = openObject({ ...fields, createdAt: time(), updatedAt: time() });

export const DEFINITION_ROUTES = {
  listDynamicWorkflows: definitions("GET /api/stored/workflows", {
    summary: "Workflows that are defined as data",
    owner: "grant",
    grant: "inspect",
    response: openObject({ workflows: list(workflowDefinition) }),
  }),
  upsertDynamicWorkflow: definitions("POST /api/stored/workflows", {
    summary: "Checks and stores a workflow that is defined as data",
    owner: "grant",
    grant: "control",
    body: object(fields),
    response: workflowDefinition,
  }),
  getDynamicWorkflow: definitions("GET /api/stored/workflows/:definitionId", {
    summary: "A workflow that is defined as data",
    owner: "grant",
    grant: "inspect",
    response: workflowDefinition,
  }),
  deleteDynamicWorkflow: definitions("DELETE /api/stored/workflows/:definitionId", {
    summary: "Deletes a workflow that is defined as data. Its runs stay",
    owner: "grant",
    grant: "control",
    response: openObject({ success: only(true) }),
  }),
};
