export * as scorers from "./scorers/prebuilt.ts";
export { checks } from "./checks.ts";
