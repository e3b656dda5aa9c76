import { checkId } from "../storage/check-id.ts";
import {
  checkCategory,
  checkPolicy,
  checkRule,
  type PermissionGrants,
  type PermissionPolicy,
  type PermissionRules,
  type ToolCategory,
} from "./permission.ts";
import { quietly } from "./quietly.ts";
import { rulesOf } from "./run-profile.ts";
import type { SessionCore } from "./session-core.ts";
import type { SessionPatch, StoredSession } from "./session-domain.ts";

/** The permissions of tools in a session. */
export class SessionPermissions {
  readonly #core: SessionCore;

  constructor(core: SessionCore) {
    this.#core = core;
  }

  getRules(): PermissionRules {
    return structuredClone(rulesOf(this.#core.row));
  }

  setForCategory(options: { category: ToolCategory; policy: PermissionPolicy }): Promise<void> {
    return this.#change((rules) => {
      const category = checkCategory(options?.category);
      return { ...rules, categories: { ...rules.categories, [category]: checkPolicy(options.policy) } };
    });
  }

  /** `toolName` may name arguments, too: `execute_command(git status*)`. */
  setForTool(options: { toolName: string; policy: PermissionPolicy }): Promise<void> {
    return this.#change((rules) => {
      const toolName = checkRule(options?.toolName);
      const policy = checkPolicy(options.policy);
      return { ...rules, tools: { ...rules.tools, [toolName]: policy } };
    });
  }

  getGrants(): PermissionGrants {
    return structuredClone(this.#core.row.grants) as PermissionGrants;
  }

  grant(what: Partial<PermissionGrants>): Promise<void> {
    return this.#changeRow(async (row) => ({ patch: { grants: withGrants(row.grants, what) } }));
  }

  revoke(what: Partial<PermissionGrants>): Promise<void> {
    return this.#changeRow(async ({ grants }) => ({
      patch: {
        grants: {
          categories: grants.categories.filter((one) => !what.categories?.includes(one as ToolCategory)),
          tools: grants.tools.filter((one) => !what.tools?.includes(one)),
        },
      },
    }));
  }

  #change(change: (rules: PermissionRules) => PermissionRules): Promise<void> {
    return this.#changeRow(async (row) => ({
      patch: { rules: change(rulesOf(row)) as StoredSession["rules"] },
    }));
  }

  #changeRow(change: (row: StoredSession) => Promise<{ patch: SessionPatch }>): Promise<void> {
    return quietly(this.#core, async () => void (await this.#core.change(change)));
  }
}

export function withGrants(
  grants: StoredSession["grants"],
  { categories = [], tools = [] }: Partial<PermissionGrants>,
): StoredSession["grants"] {
  return {
    categories: [...new Set([...grants.categories, ...categories.map(checkCategory)])],
    tools: [...new Set([...grants.tools, ...tools.map((name) => checkId("toolName", name))])],
  };
}
