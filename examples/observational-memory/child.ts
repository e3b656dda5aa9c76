import { companion, conversation, messages } from "./companion.ts";

const [folder = ""] = process.argv.slice(2);
let observations = 0;
const { agent } = companion(folder, async () => {
  if (++observations < 3) return;
  process.send?.("observing");
  await new Promise(() => {}); // Never resolves: the parent kills this process here.
});
for (const message of messages) await agent.generate(message, { memory: conversation });
