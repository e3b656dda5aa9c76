import { simulateOm } from "./simulate-om.ts";
const r = await simulateOm(Number(process.argv[2]), { trace: true });
console.log(r.violation?.message);
for (const line of r.trace!) if (/om_|crash|warn|error|told|faults|stands|jumps|fails|takes effect/.test(line)) console.log(line.slice(0, 700));
process.exit(0);
