import { Agent } from "@selvedge/core/agent";
import { Memory } from "@selvedge/memory";
import { demoModel } from "selvedge/demo";
import { rollDice } from "../tools/roll-dice.ts";

export const assistant = new Agent({
  id: "assistant",
  name: "Assistant",
  instructions: "You are a helpful assistant. Answer briefly, in Markdown. Roll dice with the tool.",
  // Any provider/model; others than OpenAI's want their package, such as @ai-sdk/anthropic. The demo model follows a script and says so.
  model: process.env.OPENAI_API_KEY ? "openai/gpt-5.5" : demoModel(),
  memory: new Memory({ options: { lastMessages: 40, threads: { generateTitle: true } } }),
  tools: { "roll-dice": rollDice },
});
