import { AgentError } from "../errors.ts";
import type { CompiledSchema } from "../schema/compile-schema.ts";
import type { SchemaIssue, Validation } from "../schema/schema.ts";
import { showIssues } from "../schema/show-issues.ts";

/** What a tool answers when its input does not fit: a result the model can read and repair. */
export interface ToolInputError {
  error: true;
  message: string;
  validationErrors: SchemaIssue[];
}

export function inputError(message: string, validationErrors: SchemaIssue[] = []): ToolInputError {
  return { error: true, message, validationErrors };
}

export type InputCheck = { ok: true; value: unknown } | { ok: false; error: ToolInputError };

/**
 * Parses a call's input. What does not fit comes back as a result that names every issue; what the schema throws is thrown.
 * Waits only for a schema that does.
 */
export function checkInput(
  name: string,
  schema: CompiledSchema | undefined,
  input: unknown,
): InputCheck | Promise<InputCheck> {
  if (!schema) return { ok: true, value: input };
  const checked = schema.validate(input);
  return checked instanceof Promise
    ? checked.then((late) => tellIssues(name, late))
    : tellIssues(name, checked);
}

function tellIssues(name: string, checked: Validation<unknown>): InputCheck {
  if (checked.ok) return checked;
  const list = showIssues(checked.issues, "input", "\n- ");
  const message = `The input of tool "${name}" is not valid. Please correct it and call again:\n- ${list}`;
  return { ok: false, error: inputError(message, checked.issues) };
}

/** Parses a tool's output; output that breaks the tool's own promise is the tool's error. */
export async function checkOutput(
  name: string,
  schema: CompiledSchema | undefined,
  output: unknown,
): Promise<unknown> {
  if (!schema) return output;
  const checked = await schema.validate(output);
  if (checked.ok) return checked.value;
  const list = showIssues(checked.issues, "output");
  throw new AgentError(
    "tool-output-invalid",
    `Tool "${name}" returned output that does not match its schema: ${list}`,
  );
}
