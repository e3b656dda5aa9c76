import { join } from "node:path";
import { Mastra } from "@selvedge/core";
import { Agent } from "@selvedge/core/agent";
import { LibSQLStore } from "@selvedge/libsql";
import { Memory } from "@selvedge/memory";
import { scriptedModel } from "@selvedge/testing";

export const conversation = { thread: "diary", resource: "ada" };

const chatter = (about: string): string => Array.from({ length: 60 }, () => about).join(" ");
export const messages: string[] = Array.from(
  { length: 59 },
  (_, turn) => `Today was about ${chatter("rain")} ${turn}.`,
);
messages[1] = `My cat is called Turing. ${chatter("sunshine")}`;

/** The program that both processes run. `onObserve` is called before the observer answers. */
export function companion(folder: string, onObserve: () => Promise<void> = async () => {}) {
  const storage = new LibSQLStore({ url: `file:${join(folder, "threads.db")}` });
  // Both models only know what is in their prompt.
  const model = scriptedModel(({ prompt }) => {
    const question = JSON.stringify(prompt.at(-1));
    if (!question.includes("my cat")) return `I see: ${chatter("clouds")}.`;
    const name = /cat is called (\w+)/.exec(JSON.stringify(prompt))?.[1];
    return name ? `Your cat is called ${name}.` : "You never told me.";
  });
  const observer = scriptedModel(async ({ prompt }) => {
    await onObserve();
    const facts = JSON.stringify(prompt.at(-1)).match(/My [\w ]+ is called \w+/g) ?? [];
    const notes = facts.map((fact) => `- 🔴 ${fact.replace("My", "The user's")}.`);
    return `<observations>\n${notes.join("\n")}\n- 🟢 They talked about the weather.\n</observations>`;
  });

  const memory = new Memory({
    storage,
    options: {
      observationalMemory: {
        model: observer,
        observation: { messageTokens: 2_000 },
      },
    },
  });
  const agent = new Agent({ name: "companion", instructions: "Be a friend.", model, memory });
  return { mastra: new Mastra({ agents: { agent }, storage }), agent, memory, model, observer };
}
