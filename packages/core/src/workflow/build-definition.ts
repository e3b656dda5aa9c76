import { isObject } from "@selvedge/protocol";
import { AgentError, errorMessage, showValue } from "../errors.ts";
import { checkId } from "../storage/check-id.ts";
import { Tool, type ToolLike } from "../tool/tool.ts";
import { type AgentLike, isAgentLike } from "./agent-like.ts";
import { agentStep } from "./agent-step.ts";
import type { Chainable } from "./chaining.ts";
import { definedMap } from "./defined-map.ts";
import type { DefinedEntry, DefinedStep, WorkflowDefinition } from "./definition.ts";
import { compilePredicate } from "./predicate.ts";
import { toolStep } from "./tool-step.ts";
import { cloneWorkflow, Workflow } from "./workflow.ts";

/** What a definition may name. */
export interface DefinitionParts {
  agent(id: string): unknown;
  tool(id: string): ToolLike | undefined;
  workflow(id: string): Workflow | undefined;
}

const SCHEMAS = ["inputSchema", "outputSchema", "stateSchema", "requestContextSchema"] as const;
const MAX_ENTRIES = 1000;
const MAX_STEPS = 100;

/** A workflow from its definition. Throws `invalid-argument` with the place of what is wrong, such as `graph.2.steps.0`. */
export function buildDefinition(definition: WorkflowDefinition, parts: DefinitionParts): Workflow {
  if (!isObject(definition)) throw bad("definition", "must be an object", definition);
  const { id, graph } = definition;
  at("id", () => checkId("It", id));
  for (const name of SCHEMAS)
    if (definition[name] !== undefined || name === "inputSchema" || name === "outputSchema")
      if (!isObject(definition[name])) throw bad(name, "must be a JSON Schema", definition[name]);
  if (!Array.isArray(graph) || graph.length === 0 || graph.length > MAX_ENTRIES)
    throw bad("graph", `must be a list of 1 to ${MAX_ENTRIES} entries`, graph);
  const { graph: _, ...config } = definition;
  const builder = new DefinitionBuilder(new Workflow(config as never), parts);
  for (const [index, entry] of graph.entries()) builder.add(entry, `graph.${index}`);
  return at("graph", () => builder.workflow.commit());
}

/** The ids of the workflows that a definition names. */
export function workflowsIn({ graph }: WorkflowDefinition): string[] {
  if (!Array.isArray(graph)) return [];
  return graph.filter(isObject).flatMap((entry) => {
    const { steps, step } = entry as { steps?: unknown; step?: unknown };
    const all = [entry, step, ...(Array.isArray(steps) ? (steps as unknown[]) : [])];
    return all.flatMap((one) =>
      isObject(one) && one["type"] === "workflow" && typeof one["workflowId"] === "string"
        ? [one["workflowId"]]
        : [],
    );
  });
}

class DefinitionBuilder {
  readonly workflow: Workflow;
  readonly #parts: DefinitionParts;

  constructor(workflow: Workflow, parts: DefinitionParts) {
    this.workflow = workflow;
    this.#parts = parts;
  }

  add(entry: DefinedEntry, place: string): void {
    if (!isObject(entry)) throw bad(place, "must be an object", entry);
    const { workflow } = this;
    switch (entry.type) {
      case "agent":
      case "tool":
      case "workflow":
        return this.#then(this.#step(entry, place), place);
      case "mapping": {
        const map = definedMap(entry.mapConfig, `${place}.mapConfig`);
        return void at(place, () => workflow.map(map, { id: checkId("id", entry.id) }));
      }
      case "parallel": {
        const steps = this.#steps(entry.steps, place);
        return void at(place, () => workflow.parallel(steps as never));
      }
      case "conditional":
        return this.#branch(entry, place);
      case "foreach": {
        const step = this.#step(entry.step, `${place}.step`);
        return void at(place, () => workflow.foreach(step as never, entry.opts ?? {}));
      }
      case "loop":
        return this.#loop(entry, place);
      case "sleep":
        return void at(place, () => workflow.sleep(entry.duration));
      case "sleepUntil":
        return void at(place, () => workflow.sleepUntil(new Date(entry.date)));
      default:
        throw bad(`${place}.type`, "is not a kind of entry", (entry as { type?: unknown }).type);
    }
  }

  #then(step: Chainable, place: string): void {
    at(place, () => this.workflow.then(step as never));
  }

  #branch({ steps, predicates }: Extract<DefinedEntry, { type: "conditional" }>, place: string): void {
    const members = this.#steps(steps, place);
    if (!Array.isArray(predicates) || predicates.length !== members.length)
      throw bad(
        `${place}.predicates`,
        `must have one predicate for each of the ${members.length} steps`,
        predicates,
      );
    for (const [index, predicate] of predicates.entries())
      compilePredicate(predicate, `${place}.predicates.${index}`);
    const branches = members.map((step, index) => [predicates[index]!, step] as const);
    at(place, () => this.workflow.branch(branches as never));
  }

  #loop({ step, loopType, predicate }: Extract<DefinedEntry, { type: "loop" }>, place: string): void {
    const body = this.#step(step, `${place}.step`) as never;
    compilePredicate(predicate, `${place}.predicate`);
    if (loopType !== "dowhile" && loopType !== "dountil")
      throw bad(`${place}.loopType`, `must be "dowhile" or "dountil"`, loopType);
    at(place, () => this.workflow[loopType](body, predicate));
  }

  #steps(steps: unknown, place: string): Chainable[] {
    if (!Array.isArray(steps) || steps.length === 0 || steps.length > MAX_STEPS)
      throw bad(`${place}.steps`, `must be a list of 1 to ${MAX_STEPS} steps`, steps);
    return steps.map((step, index) => this.#step(step as DefinedStep, `${place}.steps.${index}`));
  }

  #step(entry: DefinedStep, place: string): Chainable {
    if (!isObject(entry)) throw bad(place, "must be a step", entry);
    const id = at(`${place}.id`, () => checkId("It", entry.id));
    switch (entry.type) {
      case "agent": {
        const { agentId, outputSchema, options } = entry;
        const agent = this.#named(`${place}.agentId`, "agent", agentId, (name) => this.#parts.agent(name));
        if (!isAgentLike(agent)) throw bad(`${place}.agentId`, "is not an agent", agentId);
        const structuredOutput = outputSchema && { structuredOutput: { schema: outputSchema } };
        return agentStep(agent as AgentLike, { ...options, ...structuredOutput }, id);
      }
      case "tool": {
        const tool = this.#named(`${place}.toolId`, "tool", entry.toolId, (name) => this.#parts.tool(name));
        if (!(tool instanceof Tool))
          throw bad(`${place}.toolId`, "was not made by createTool()", entry.toolId);
        return at(place, () => toolStep(tool, {}, id));
      }
      case "workflow": {
        const { workflowId } = entry;
        const found = this.#named(`${place}.workflowId`, "workflow", workflowId, (name) =>
          this.#parts.workflow(name),
        );
        return (found.id === id ? found : cloneWorkflow(found, { id })) as Chainable;
      }
      default:
        throw bad(
          `${place}.type`,
          "must be agent, tool or workflow here",
          (entry as { type?: unknown }).type,
        );
    }
  }

  #named<Part>(place: string, kind: string, id: unknown, find: (id: string) => Part | undefined): Part {
    const found = typeof id === "string" ? find(id) : undefined;
    if (found === undefined)
      throw bad(place, `must be the id of ${kind === "agent" ? "an" : "a"} ${kind} of the host`, id);
    return found;
  }
}

/** Says where something went wrong. */
function at<Value>(place: string, work: () => Value): Value {
  try {
    return work();
  } catch (error) {
    throw new AgentError("invalid-argument", `${place}: ${errorMessage(error)}`, { cause: error });
  }
}

function bad(place: string, rule: string, value: unknown): AgentError {
  return new AgentError("invalid-argument", `${place} ${rule}, got ${showValue(value)}.`);
}
