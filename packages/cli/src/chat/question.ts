import type { AgentControllerDisplayState } from "@selvedge/protocol/session";
import { oneLine, printable } from "./printable.ts";

/** Something that the agent waits for. */
export interface Question {
  toolCallId: string;
  kind: "approval" | "plan" | "choice" | "text" | "data";
  /** What is asked, as Markdown. */
  text: string;
  options: { label: string; description?: string }[];
  /** Several options may be chosen. */
  many: boolean;
  /** It belongs to a call of the conversation, not to one of a subagent. */
  isOwn: boolean;
  /** What can be typed. */
  hint: string;
}

/** What an answer becomes. */
export type Reply =
  | { type: "approval"; decision: "approve" | "decline" | "always_allow_category" }
  | { type: "data"; resumeData: unknown }
  | { type: "message"; content: string };

const HINTS: Readonly<Record<Question["kind"], string>> = {
  approval: "y yes · n no · a always for this category · or say what to do instead",
  plan: "y approve · n reject · or say what to change",
  choice: "type a number or your own answer",
  text: "type your answer",
  data: "type the answer, as text or JSON",
};

/** What waits for a person, the oldest first. */
export function questionsOf(
  {
    pendingApprovals,
    pendingSuspensions,
  }: Pick<AgentControllerDisplayState, "pendingApprovals" | "pendingSuspensions">,
  bounds?: string,
): Question[] {
  const approvals = [...pendingApprovals.values()].map(
    ({ toolCallId, toolName, args, reason, parentToolCallId }): Question => {
      const isOwn = parentToolCallId === undefined;
      const given = Object(args) as Record<string, unknown>;
      // A call for more access says itself what bounds it.
      const why =
        given["access"] === undefined || given["access"] === "sandbox" ? (bounds ?? reason) : reason;
      const text = approvalText(oneLine(toolName), given, why, isOwn);
      return { ...NO_OPTIONS, toolCallId, kind: "approval", text, isOwn, hint: HINTS.approval };
    },
  );
  const suspensions = [...pendingSuspensions.values()].map(({ parentToolCallId, ...call }) => ({
    ...suspended(call.toolCallId, call.toolName, call.suspendPayload),
    isOwn: parentToolCallId === undefined,
  }));
  return [...approvals, ...suspensions];
}

/** A person must be able to read what they allow. The diff of an edit stands above, as a part of its call. */
function approvalText(
  tool: string,
  args: Record<string, unknown>,
  reason: string | undefined,
  isOwn: boolean,
): string {
  const who = isOwn ? "" : " (a subagent asks)";
  const { command, path, old_string, new_string, content, ...rest } = args;
  const more = Object.keys(rest).length > 0 ? ` with ${json(rest)}` : "";
  if (typeof command === "string" && path === undefined) {
    // What a terminal cannot show as it is, is shown as JSON.
    const shown = printable(command) === command ? command.split("\n") : [JSON.stringify(command)];
    const lines = shown.map((line, index) => `${index === 0 ? "  $ " : "    "}${printable(line)}`);
    return [`Allow ${tool} to run this${more}?${who}`, ...lines, ...(reason ? [printable(reason)] : [])].join(
      "\n",
    );
  }
  const isEdit = typeof new_string === "string" || (typeof content === "string" && old_string === undefined);
  if (isOwn && isEdit && typeof path === "string")
    return `Allow ${tool} to change ${oneLine(path, 500)}${more}?`;
  return `Allow ${tool} ${json(args)} to run?${who}`;
}

function json(value: unknown): string {
  return oneLine(JSON.stringify(value) ?? "", 2000);
}

const NO_OPTIONS: Pick<Question, "options" | "many"> = { options: [], many: false };

function suspended(toolCallId: string, toolName: string, payload: unknown): Omit<Question, "isOwn"> {
  const fields = Object(payload) as Record<string, unknown>;
  if (toolName === "submit_plan") {
    const { title = "Plan", plan, path } = fields;
    const what = typeof plan === "string" ? plan : `The plan is in ${String(path)}.`;
    const text = `**${oneLine(String(title))}**\n\n${printable(what)}`;
    return { ...NO_OPTIONS, toolCallId, kind: "plan", text, hint: HINTS.plan };
  }
  if (typeof fields["question"] !== "string") {
    const text = `${oneLine(toolName)} waits for an answer: ${oneLine(JSON.stringify(payload) ?? "")}`;
    return { ...NO_OPTIONS, toolCallId, kind: "data", text, hint: HINTS.data };
  }
  const options = (Array.isArray(fields["options"]) ? fields["options"] : []).map((option: unknown) => {
    const { label, description } = Object(option) as { label?: unknown; description?: unknown };
    return {
      label: String(label),
      ...(typeof description === "string" && { description: oneLine(description) }),
    };
  });
  const many = fields["selectionMode"] === "multi_select";
  const kind = options.length > 0 ? "choice" : "text";
  const hint = many ? "type the numbers, such as 1,3" : HINTS[kind];
  return { toolCallId, kind, text: printable(fields["question"]), options, many, hint };
}

/** Reads what was typed as an answer. Returns a problem if it is not a valid one. */
export function readReply(question: Question, typed: string): Reply | { type: "problem"; message: string } {
  const text = typed.trim();
  const word = text.toLowerCase();
  const isYes = word === "y" || word === "yes";
  const isNo = word === "n" || word === "no";
  switch (question.kind) {
    case "approval":
      if (isYes) return { type: "approval", decision: "approve" };
      if (isNo) return { type: "approval", decision: "decline" };
      if (word === "a" || word === "always") return { type: "approval", decision: "always_allow_category" };
      return { type: "message", content: typed };
    case "plan":
      if (isYes) return { type: "data", resumeData: { action: "approved" } };
      return { type: "data", resumeData: { action: "rejected", ...(!isNo && { feedback: text }) } };
    case "choice":
      return choose(question, text);
    case "text":
      return { type: "data", resumeData: text };
    case "data":
      return { type: "data", resumeData: parsed(text) };
  }
}

function choose({ options, many }: Question, text: string): ReturnType<typeof readReply> {
  const labelOf = (part: string): string | undefined =>
    /^\d+$/.test(part)
      ? options[Number(part) - 1]?.label
      : options.find(({ label }) => label.toLowerCase() === part.toLowerCase())?.label;
  const parts = text.split(",").map((part) => part.trim());
  if (/^[\d\s,]+$/.test(text)) {
    const wrong = parts.find((part) => labelOf(part) === undefined);
    if (wrong !== undefined || (!many && parts.length > 1))
      return {
        type: "problem",
        message: `Choose ${many ? "numbers" : "one number"} from 1 to ${options.length}, got "${text}".`,
      };
  }
  if (!many) return { type: "data", resumeData: labelOf(text) ?? text };
  return { type: "data", resumeData: parts.map((part) => labelOf(part) ?? part) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
