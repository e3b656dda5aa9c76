import { AgentError } from "../errors.ts";
import type { CompiledSchema } from "../schema/compile-schema.ts";
import type { SchemaIssue, Validation } from "../schema/schema.ts";
import { showIssues } from "../schema/show-issues.ts";

/** A tool's result for invalid input, which the model can read and correct. */
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
 * Parses a call's input. Invalid input returns a result that names every issue; an error thrown by the schema
 * propagates. Asynchronous only if the schema is.
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

/** Parses a tool's output; invalid output is an error of the tool. */
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
