import type { RouteCalls } from "@selvedge/protocol/routes";
import { call, type CallResult } from "./call.ts";
import { checkName } from "./check-name.ts";
import type { RequestInput, Transport } from "./transport.ts";

/** A workspace on a server: files, search, skills, and the changes of threads. */
export class ClientWorkspace {
  readonly workspaceId: string;
  readonly #transport: Transport;

  constructor(transport: Transport, workspaceId: string) {
    this.#transport = transport;
    this.workspaceId = checkName("a workspace", workspaceId);
  }

  info(): Promise<CallResult<"getWorkspace">> {
    return this.#call("getWorkspace");
  }

  listFiles(path = ".", recursive = false): Promise<CallResult<"listWorkspaceFiles">> {
    return this.#call("listWorkspaceFiles", { query: { path, recursive } });
  }

  /** Without an encoding, a file that is not text has its content in base64. */
  readFile(path: string, encoding?: "utf-8" | "base64"): Promise<CallResult<"readWorkspaceFile">> {
    return this.#call("readWorkspaceFile", { query: { path, encoding } });
  }

  writeFile(
    path: string,
    content: string,
    options: { encoding?: "utf-8" | "base64"; recursive?: boolean } = {},
  ): Promise<CallResult<"writeWorkspaceFile">> {
    return this.#call("writeWorkspaceFile", { body: { path, content, ...options } });
  }

  stat(path: string): Promise<CallResult<"statWorkspaceFile">> {
    return this.#call("statWorkspaceFile", { query: { path } });
  }

  mkdir(path: string, recursive = true): Promise<CallResult<"makeWorkspaceDirectory">> {
    return this.#call("makeWorkspaceDirectory", { body: { path, recursive } });
  }

  delete(
    path: string,
    options: { recursive?: boolean; force?: boolean } = {},
  ): Promise<CallResult<"deleteWorkspaceFile">> {
    return this.#call("deleteWorkspaceFile", { query: { path, ...options } });
  }

  search(query: RouteCalls["searchWorkspace"]["query"]): Promise<CallResult<"searchWorkspace">> {
    return this.#call("searchWorkspace", { query });
  }

  index(body: RouteCalls["indexWorkspace"]["body"]): Promise<CallResult<"indexWorkspace">> {
    return this.#call("indexWorkspace", { body });
  }

  listSkills(): Promise<CallResult<"listSkills">> {
    return this.#call("listSkills");
  }

  searchSkills({
    skillNames,
    ...query
  }: Omit<RouteCalls["searchSkills"]["query"], "skillNames"> & { skillNames?: string[] }): Promise<
    CallResult<"searchSkills">
  > {
    return this.#call("searchSkills", { query: { ...query, skillNames: skillNames?.join(",") } });
  }

  /** A path distinguishes skills with the same name. */
  getSkill(skillName: string, path?: string): ClientSkill {
    const params = { skillName: checkName("a skill", skillName) };
    const query = { path };
    return {
      details: () => this.#call("getSkill", { params, query }),
      listReferences: () => this.#call("listSkillReferences", { params, query }),
      getReference: (referencePath) =>
        this.#call("getSkillReference", { params: { ...params, referencePath }, query }),
    };
  }

  /** Changes made by the caller's threads, oldest first. */
  changes(
    query: { threadId?: string; toolCallId?: string } = {},
  ): Promise<CallResult<"listWorkspaceChanges">> {
    return this.#call("listWorkspaceChanges", { query });
  }

  /** Reverts the change of a call. Fails with `conflict` if the file has changed since. */
  undo({
    toolCallId,
    ...body
  }: {
    toolCallId: string;
    threadId?: string;
  }): Promise<CallResult<"undoWorkspaceChange">> {
    return this.#call("undoWorkspaceChange", { params: { toolCallId }, body });
  }

  /** The background processes of the caller's threads, newest first. */
  processes(query: { threadId?: string } = {}): Promise<CallResult<"listWorkspaceProcesses">> {
    return this.#call("listWorkspaceProcesses", { query });
  }

  /** Ends a background process. */
  killProcess({
    pid,
    threadId,
  }: {
    pid: string;
    threadId: string;
  }): Promise<CallResult<"killWorkspaceProcess">> {
    return this.#call("killWorkspaceProcess", { params: { pid }, body: { threadId } });
  }

  #call<Name extends keyof RouteCalls>(name: Name, input: RequestInput = {}): Promise<CallResult<Name>> {
    const params = { workspaceId: this.workspaceId, ...input.params };
    return call(this.#transport, name, { ...input, params });
  }
}

/** A skill of a workspace on a server. */
export interface ClientSkill {
  details(): Promise<CallResult<"getSkill">>;
  listReferences(): Promise<CallResult<"listSkillReferences">>;
  getReference(referencePath: string): Promise<CallResult<"getSkillReference">>;
}
