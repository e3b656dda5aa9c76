import { AgentError, errorMessage, showValue } from "../../errors.ts";
import type { SkillFrontmatter } from "./skill.ts";

const FRONTMATTER = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/;
/** The parser takes up to 7 ms per 1,000 characters. */
const MAX_FRONTMATTER = 4096;
const NAME = /^(?!-)(?!.*--)[a-z0-9-]{1,64}(?<!-)$/;
const MAX_DESCRIPTION = 1024;
const MAX_COMPATIBILITY = 500;
const MAX_LICENSE = 500;

/** Reads a `SKILL.md`. Throws an error that names the field that is wrong. */
export async function parseSkill(text: string): Promise<SkillFrontmatter & { instructions: string }> {
  const found = FRONTMATTER.exec(text.slice(0, MAX_FRONTMATTER));
  if (!found) {
    throw invalid(
      "frontmatter",
      `must be YAML between two lines of ---, at most ${MAX_FRONTMATTER.toLocaleString("en")} characters`,
    );
  }
  return {
    ...checkFrontmatter(await parseYaml(found[1]!)),
    instructions: text.slice(found[0].length).trim(),
  };
}

/** Checks what a skill says about itself. */
export function checkFrontmatter(fields: Record<string, unknown>): SkillFrontmatter {
  const { name, description, license, compatibility, metadata } = fields;
  const invocable = fields["user-invocable"] ?? true;
  if (typeof name !== "string" || !NAME.test(name)) {
    throw invalid("name", `must be 1 to 64 of a-z, 0-9 and single hyphens inside, but is ${showValue(name)}`);
  }
  if (!isText(description, MAX_DESCRIPTION))
    throw invalid(
      "description",
      `must be a string of 1 to 1,024 characters, but is ${showValue(description)}`,
    );
  if (license !== undefined && !isText(license, MAX_LICENSE))
    throw invalid(
      "license",
      `must be a string of 1 to ${MAX_LICENSE} characters, but is ${showValue(license)}`,
    );
  if (compatibility !== undefined && !isText(compatibility, MAX_COMPATIBILITY)) {
    throw invalid(
      "compatibility",
      `must be a string of 1 to ${MAX_COMPATIBILITY} characters, but is ${showValue(compatibility)}`,
    );
  }
  if (typeof invocable !== "boolean")
    throw invalid("user-invocable", `must be true or false, but is ${showValue(invocable)}`);
  if (metadata !== undefined && !isRecord(metadata))
    throw invalid("metadata", `must be a mapping, but is ${showValue(metadata)}`);
  return {
    name,
    description: description.trim(),
    ...(license !== undefined && { license }),
    ...(compatibility !== undefined && { compatibility }),
    "user-invocable": invocable,
    ...(metadata !== undefined && { metadata }),
  };
}

async function parseYaml(text: string): Promise<Record<string, unknown>> {
  const { parse } = await import("yaml");
  let value: unknown;
  try {
    // Without aliases: a few of them can stand for gigabytes.
    value = parse(text, { maxAliasCount: 0, schema: "core", logLevel: "error" });
  } catch (error) {
    throw invalid("frontmatter", `is not valid YAML: ${errorMessage(error).split("\n")[0]!.slice(0, 200)}`);
  }
  if (!isRecord(value)) throw invalid("frontmatter", `must be a mapping, but is ${showValue(value)}`);
  return value;
}

function invalid(field: string, problem: string): AgentError {
  return new AgentError("invalid-argument", `${field} ${problem}.`);
}

function isText(value: unknown, most: number): value is string {
  return typeof value === "string" && value.trim() !== "" && value.length <= most;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
