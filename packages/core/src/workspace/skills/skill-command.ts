import type { StoredMessage } from "@selvedge/protocol";
import type { SignalRecord } from "@selvedge/protocol/session";
import type { ProcessInputStepArgs, Processor } from "../../processor/processor.ts";
import { showSkill } from "../tools/skill-tools.ts";
import type { WorkspaceSkills } from "./workspace-skills.ts";

const COMMAND = /^\/([a-z0-9-]{1,64})(?:\s|$)/;
const SIGNAL = "skill";

/** Lets a user start a skill with `/name`: its instructions join the conversation, once per message. */
export class SkillCommand implements Processor {
  readonly id = "skill-command";
  readonly #skills: WorkspaceSkills;

  constructor(skills: WorkspaceSkills) {
    this.#skills = skills;
  }

  async processInputStep({ messages, sendSignal }: ProcessInputStepArgs): Promise<void> {
    const message = messages.findLast(isOfUser);
    const name = message && COMMAND.exec(textOf(message))?.[1];
    if (name === undefined || messages.some((one) => startedBy(one) === message!.id)) return;
    const listed = (await this.#skills.list()).filter((skill) => skill.name === name);
    // If two skills have the name, it is unclear which one is meant.
    if (listed.length !== 1 || !listed[0]!["user-invocable"]) return;
    await sendSignal({
      type: "reactive",
      contents: `The user started the skill ${name}.\n\n${await showSkill(this.#skills, listed[0]!.path)}`,
      attributes: { type: SIGNAL, name, message: message!.id },
    });
  }
}

function textOf({ content }: StoredMessage): string {
  return content.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** In a session, what a user writes is a signal. */
function isOfUser(message: StoredMessage): boolean {
  const signal = signalOf(message);
  return signal ? signal.type === "user" : message.role === "user";
}

function signalOf({ content }: StoredMessage): Partial<SignalRecord> | undefined {
  return content.metadata?.["signal"] as Partial<SignalRecord> | undefined;
}

/** The message that a skill was started by. */
function startedBy(message: StoredMessage): unknown {
  const signal = signalOf(message);
  return signal?.attributes?.["type"] === SIGNAL ? signal.attributes["message"] : undefined;
}
