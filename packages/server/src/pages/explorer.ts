import { createHash } from "node:crypto";

/** A self-contained page to read and try the routes. It loads nothing from elsewhere. */
export function explorerPage(): Response {
  return new Response(PAGE, {
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": `default-src 'none'; script-src '${hash(SCRIPT)}'; style-src '${hash(STYLE)}'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
    },
  });
}

function hash(text: string): string {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}

const STYLE = `
:root { color-scheme: light dark; --line: light-dark(#ddd, #333); --soft: light-dark(#f6f6f4, #1b1b1e); --ink: light-dark(#1c1c1e, #ececec); }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); max-width: 60rem; margin: 2rem auto; padding: 0 1rem; background: light-dark(#fff, #121214); }
h2 { margin-top: 2rem; font-size: 1rem; text-transform: uppercase; letter-spacing: .06em; opacity: .7; }
details { border: 1px solid var(--line); border-radius: 8px; margin: .4rem 0; }
summary { cursor: pointer; padding: .5rem .8rem; display: flex; gap: .8rem; align-items: baseline; flex-wrap: wrap; }
summary b { font: 600 12px ui-monospace, monospace; min-width: 4rem; }
summary code { font: 13px ui-monospace, monospace; }
summary span { opacity: .7; font-size: 13px; }
form { padding: .4rem .8rem .8rem; display: grid; gap: .5rem; border-top: 1px solid var(--line); }
label { display: grid; grid-template-columns: 10rem 1fr; gap: .6rem; align-items: center; font-size: 13px; }
input, textarea, button { font: 13px ui-monospace, monospace; color: inherit; background: var(--soft); border: 1px solid var(--line); border-radius: 6px; padding: .4rem .6rem; }
textarea { min-height: 7rem; }
button { width: fit-content; cursor: pointer; }
pre { background: var(--soft); border-radius: 6px; padding: .6rem; overflow: auto; max-height: 24rem; font-size: 12px; margin: 0; }
`;

const SCRIPT = `
const make = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element[name] = value;
  element.append(...children);
  return element;
};
const resolve = (document_, schema) =>
  schema && schema.$ref ? document_.components.schemas[schema.$ref.split("/").pop()] : schema;
const sample = (document_, schema, depth = 0) => {
  const shape = resolve(document_, schema) ?? {};
  if (shape.anyOf) return sample(document_, shape.anyOf[0], depth);
  if (shape.const !== undefined) return shape.const;
  if (shape.enum) return shape.enum[0];
  if (shape.type === "object" && depth < 4)
    return Object.fromEntries((shape.required ?? []).map((key) => [key, sample(document_, shape.properties?.[key], depth + 1)]));
  return { string: "", integer: 0, number: 0, boolean: true, array: [], object: {} }[shape.type] ?? null;
};
const call = async (document_, path, method, operation, form, output) => {
  const data = new FormData(form);
  const url = new URL(path.replace(/{(\\w+)}/g, (_, name) => encodeURIComponent(data.get("path:" + name))), location.origin);
  for (const [name, value] of data) if (name.startsWith("query:") && value) url.searchParams.set(name.slice(6), value);
  output.textContent = "…";
  const response = await fetch(url, {
    method: method.toUpperCase(),
    ...(operation.requestBody && { body: data.get("body"), headers: { "content-type": "application/json" } }),
  });
  output.textContent = response.status + " " + (response.headers.get("content-type") ?? "") + "\\n";
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true };
    if (done) break;
    text += value;
    output.textContent = response.status + "\\n" + text.slice(-200000);
  }
  try { output.textContent = response.status + "\\n" + JSON.stringify(JSON.parse(text), null, 2); } catch {}
};
const show = async () => {
  const document_ = await (await fetch("openapi.json")).json();
  const groups = new Map(document_.tags.map(({ name }) => [name, []]));
  for (const [path, methods] of Object.entries(document_.paths))
    for (const [method, operation] of Object.entries(methods)) groups.get(operation.tags[0]).push({ path, method, operation });
  for (const [tag, operations] of groups) {
    document.querySelector("main").append(make("h2", { textContent: tag }));
    for (const { path, method, operation } of operations) {
      const output = make("pre");
      const form = make("form");
      for (const { name, in: place, required } of operation.parameters ?? [])
        if (place !== "header")
          form.append(make("label", {}, name, make("input", { name: place + ":" + name, required })));
      const schema = operation.requestBody?.content["application/json"].schema;
      if (schema) form.append(make("textarea", { name: "body", value: JSON.stringify(sample(document_, schema), null, 2) }));
      form.append(make("button", { textContent: "Send" }), output);
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        call(document_, path, method, operation, form, output).catch((error) => (output.textContent = String(error)));
      });
      const line = make("summary", {}, make("b", { textContent: method.toUpperCase() }), make("code", { textContent: path }), make("span", { textContent: operation.summary }));
      document.querySelector("main").append(make("details", {}, line, form));
    }
  }
};
show();
`;

const PAGE = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Routes</title><style>${STYLE}</style></head>
<body><h1>Routes</h1><main></main><script>${SCRIPT}</script></body>
</html>
`;
