// Writes entries into the index `docs`, searches through the HNSW cache in between, and reports both on stdout.
import { LibSQLVector } from "../libsql-vector.ts";

const [path, number] = process.argv.slice(2);
const vector = new LibSQLVector({ url: `file:${path}`, approximateFrom: 1_000 });

for (let index = 0; index < 60; index++) {
  const angle = (index * 40) / 500;
  const values = [Math.cos(angle), Math.sin(angle), 0, 0, 0, 0, 0, 1 + Number(number)];
  await vector.upsert({ indexName: "docs", vectors: [values], ids: [`p${number}-${index}`] });
  const [found] = await vector.query({ indexName: "docs", queryVector: values, topK: 1 });
  if (found?.id !== `p${number}-${index}`) throw new Error(`wrote p${number}-${index}, found ${found?.id}`);
  process.stdout.write(".");
}
await vector.close();
