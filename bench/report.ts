/** node report.ts [tmp/latest.json]: prints the tables of a saved run again. */
import { fileURLToPath } from "node:url";
import { readResults, report } from "./lib/results.ts";

const file = process.argv[2] ?? fileURLToPath(new URL("./tmp/latest.json", import.meta.url));
const results = readResults(file);
if (!results) throw new Error(`There is no saved run at ${file}.`);
console.log(report(results));
