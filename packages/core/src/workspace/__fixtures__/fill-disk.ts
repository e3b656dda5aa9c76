import { AgentError } from "../../errors.ts";
import { LocalFilesystem } from "../local-filesystem.ts";

/** Fills a small disk with a workspace, and says what it was told. */
const files = new LocalFilesystem({ basePath: process.argv[2]! });
await files.writeFile("a.txt", "before");
const fails = async (work: Promise<unknown>): Promise<{ short: string; message: string }> => {
  try {
    await work;
    return { short: "done", message: "" };
  } catch (error) {
    const { name, message } = error as Error;
    return { short: `${name} ${AgentError.is(error) ? error.code : ""}`, message };
  }
};
const write = await fails(files.writeFile("a.txt", "x".repeat(100_000)));
const append = await fails(files.appendFile("a.txt", "x".repeat(100_000)));
const content = await files.readFile("a.txt", { encoding: "utf8" });
let directories = "done";
for (let n = 0; n < 40 && directories === "done"; n++)
  directories = (await fails(files.mkdir(`d/${n}`))).short;
await files.rmdir("d", { recursive: true });
const left = (await files.readdir(".")).map(({ name }) => name);
console.log(
  JSON.stringify({
    write: `${write.short} ${write.message}`,
    content,
    append: append.short,
    directories,
    left,
  }),
);
