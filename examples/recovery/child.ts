import { thread, worker } from "./worker.ts";

const [folder = ""] = process.argv.slice(2);
const { agent } = worker(folder, async () => {
  process.send?.("notifying");
  await new Promise(() => {}); // Never resolves: the parent kills this process here.
});
await agent.sendMessage("Handle my order.", thread).admitted;
