import { AgentError, errorMessage, showValue } from "../errors.ts";
import type { Logger } from "../logger.ts";
import type { Storage } from "../storage/storage.ts";
import { buildDefinition, type DefinitionParts, workflowsIn } from "./build-definition.ts";
import type { WorkflowDefinition } from "./definition.ts";
import {
  DEFINITION_DOMAIN,
  type DefinitionDomain,
  MAX_DEFINITIONS,
  type StoredDefinition,
} from "./definition-domain.ts";
import type { Workflow } from "./workflow.ts";

export interface DynamicWorkflowsOptions {
  /** Rejects if the host has no storage. */
  storage(): Storage;
  logger: Logger;
  /** What definitions may name: what the host has, workflows of definitions included. */
  parts: DefinitionParts;
  /** Makes a workflow one of the host's, in place of an earlier one of this kind. */
  register(workflow: Workflow): Promise<void>;
  unregister(id: string): void;
}

const MAX_BYTES = 1 << 20;

/** Workflows as data: checked, stored, and part of the host from then on. */
export class DynamicWorkflows {
  readonly #options: DynamicWorkflowsOptions;
  readonly #ids = new Set<string>();

  constructor(options: DynamicWorkflowsOptions) {
    this.#options = options;
  }

  /** Whether a workflow of the host comes from a definition. */
  has(id: string): boolean {
    return this.#ids.has(id);
  }

  /** Stores definitions that may name each other. One that is wrong refuses all. */
  async add(definitions: readonly WorkflowDefinition[]): Promise<void> {
    if (!Array.isArray(definitions))
      throw new AgentError(
        "invalid-argument",
        `Expected a list of definitions, got ${showValue(definitions)}.`,
      );
    const copies = definitions.map(toJsonCopy);
    const built = this.#build(copies);
    const domain = await this.#domain();
    // Together with the stored ones: at the next start, all are built from what is stored.
    const others = (await domain.list()).filter(({ id }) => !copies.some((copy) => copy.id === id));
    inOrder([...others, ...copies]);
    if ((await domain.count()) + copies.length > MAX_DEFINITIONS)
      throw new AgentError(
        "limit-exceeded",
        `A store can contain ${MAX_DEFINITIONS} definitions of workflows. Delete some first.`,
      );
    await domain.put(copies);
    for (const workflow of built) await this.#register(workflow);
  }

  /** Takes the stored ones into the host. One that cannot be built is logged, and the others work. */
  async load(): Promise<void> {
    const definitions = (await (await this.#domain()).list()).map(
      ({ createdAt: _, updatedAt: __, ...definition }) => definition,
    );
    const built = new Map<string, Workflow>();
    const skip = (definition: WorkflowDefinition, error: unknown): void =>
      this.#options.logger.error(
        `The stored workflow "${definition.id}" cannot be used: ${errorMessage(error)}`,
      );
    for (const definition of inOrder(definitions, skip)) {
      try {
        built.set(definition.id, buildDefinition(definition, this.#partsWith(built)));
      } catch (error) {
        skip(definition, error);
      }
    }
    for (const workflow of built.values()) await this.#register(workflow);
  }

  async list(): Promise<StoredDefinition[]> {
    return (await this.#domain()).list();
  }

  async get(id: string): Promise<StoredDefinition | null> {
    return (await (await this.#domain()).get(id)) ?? null;
  }

  /** Its runs stay, and cannot be continued until there is a workflow with the id again. */
  async remove(id: string): Promise<void> {
    await (await this.#domain()).remove(id);
    if (this.#ids.delete(id)) this.#options.unregister(id);
  }

  #build(definitions: readonly WorkflowDefinition[]): Workflow[] {
    const built = new Map<string, Workflow>();
    for (const definition of inOrder(definitions)) {
      const { id } = definition;
      const twice = definitions.filter((other) => other?.id === id).length > 1;
      if (twice || (this.#options.parts.workflow(id) && !this.#ids.has(id)))
        throw new AgentError(
          "conflict",
          twice
            ? `Two definitions have the id ${showValue(id)}.`
            : `The code of the app has a workflow ${showValue(id)}. Give the definition another id.`,
        );
      built.set(id, this.#buildOne(definition, built));
    }
    return [...built.values()];
  }

  #buildOne(definition: WorkflowDefinition, built: ReadonlyMap<string, Workflow>): Workflow {
    try {
      return buildDefinition(definition, this.#partsWith(built));
    } catch (error) {
      if (!AgentError.is(error)) throw error;
      throw new AgentError(error.code, `Workflow ${showValue(definition?.id)}: ${error.message}`, {
        cause: error,
      });
    }
  }

  #partsWith(built: ReadonlyMap<string, Workflow>): DefinitionParts {
    const { parts } = this.#options;
    return { ...parts, workflow: (id) => built.get(id) ?? parts.workflow(id) };
  }

  async #register(workflow: Workflow): Promise<void> {
    this.#ids.add(workflow.id);
    await this.#options.register(workflow);
  }

  async #domain(): Promise<DefinitionDomain> {
    return this.#options.storage().domain(DEFINITION_DOMAIN);
  }
}

/** Those that others name come first. Without `skip`, one that contains itself refuses all. */
function inOrder(
  definitions: readonly WorkflowDefinition[],
  skip?: (definition: WorkflowDefinition, error: unknown) => void,
): WorkflowDefinition[] {
  const byId = new Map(definitions.map((definition) => [definition?.id, definition]));
  const done = new Set<string>();
  const sorted: WorkflowDefinition[] = [];
  const visit = (definition: WorkflowDefinition, path: readonly string[]): void => {
    if (path.includes(definition.id))
      throw new AgentError(
        "invalid-argument",
        `Workflows cannot contain themselves: ${[...path, definition.id].join(" → ")}.`,
      );
    if (done.has(definition.id)) return;
    for (const id of workflowsIn(definition)) {
      const other = byId.get(id);
      if (other) visit(other, [...path, definition.id]);
    }
    done.add(definition.id);
    sorted.push(definition);
  };
  for (const definition of definitions)
    try {
      visit(definition, []);
    } catch (error) {
      if (!skip) throw error;
      skip(definition, error);
    }
  return sorted;
}

function toJsonCopy(definition: WorkflowDefinition): WorkflowDefinition {
  const text = JSON.stringify(definition) as string | undefined;
  if (text === undefined || typeof definition !== "object" || definition === null)
    throw new AgentError("invalid-argument", `A definition must be an object, got ${showValue(definition)}.`);
  if (text.length > MAX_BYTES)
    throw new AgentError(
      "limit-exceeded",
      `The definition of workflow ${showValue(definition.id)} has ${text.length} characters, more than ${MAX_BYTES}.`,
    );
  return JSON.parse(text) as WorkflowDefinition;
}
