export { createServer, type Server } from "./server.ts";
export { DEFAULT_SERVER_LIMITS, type ServerLimits, type ServerOptions } from "./server-options.ts";
export type { Authorize, Caller } from "./caller.ts";
export { openApi } from "./open-api.ts";
export type { Grant } from "@selvedge/protocol/routes";
