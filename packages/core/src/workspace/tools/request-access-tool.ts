import { grantablePath } from "../contained/grantable-path.ts";
import { fields, type WorkspaceTool } from "./tool-frame.ts";

/** What a person is asked. `path` is the real path. */
export interface AccessRequest {
  kind: "sandbox_access_request";
  path: string;
  reason: string;
}

/** Whether an answer to a request for access says yes. */
export function isGranted(answer: unknown): boolean {
  if (typeof answer === "string") return /^\s*(y|approve)/i.test(answer);
  return (Object(answer) as { granted?: unknown }).granted === true;
}

/** Asks a person for another directory. The session keeps the answer. */
export const requestAccessTool: WorkspaceTool<{ path: string; reason: string }> = {
  name: "request_access",
  hasPrefix: false,
  description: "Ask the user for access to a directory outside the workspace.",
  category: null,
  readOnly: true,
  idempotent: true,
  maxOutputTokens: 2000,
  inputSchema: fields({
    path: { type: "string", description: "The absolute path of the directory." },
    reason: { type: "string", description: "What it is needed for. The user sees it." },
  }),
  async run({ files, allowedPaths = [] }, { path, reason }, { resumeData, suspend }) {
    const root = (await files.realpath?.(".")) ?? "/";
    const real = grantablePath(path, root);
    if (allowedPaths.includes(real)) return `${path} can be used now, by its absolute path.`;
    if (resumeData === undefined) {
      const request: AccessRequest = { kind: "sandbox_access_request", path: real, reason };
      await suspend(request);
      return "";
    }
    return isGranted(resumeData)
      ? `The answer was not given in a session, so access to ${path} was not kept.`
      : `The user did not allow access to ${path}.`;
  },
};
