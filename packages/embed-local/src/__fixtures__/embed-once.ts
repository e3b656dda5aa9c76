import { localEmbedder } from "@selvedge/embed-local";

const [vector] = await localEmbedder().embed([process.argv[2] ?? ""]);
console.log(JSON.stringify(vector));
