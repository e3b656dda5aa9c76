export * from "./request-context.ts";
export { RuntimeContext } from "./runtime-context.ts";
