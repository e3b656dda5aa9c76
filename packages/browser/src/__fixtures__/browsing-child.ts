import { browsingAgent, thread } from "./browsing-agent.ts";

const [folder = "", origin = ""] = process.argv.slice(2);
await browsingAgent(folder, origin).agent.sendMessage("Click it.", thread).admitted;
