import { LocalSandbox } from "../local-sandbox.ts";

// Runs a command in a folder, and stays.
const [workingDirectory, command] = process.argv.slice(2) as [string, string];
const sandbox = new LocalSandbox({ workingDirectory });
await sandbox.processes.spawn(command);
console.log("started");
