import { thread, worker } from "./worker.ts";

const [connectionString = ""] = process.argv.slice(2);
const { agent } = worker(connectionString, async (key) => {
  process.send?.(key);
  await new Promise(() => {}); // Never resolves: the parent kills this process here.
});
await agent.sendMessage("Tell the customer of order 7.", thread).admitted;
