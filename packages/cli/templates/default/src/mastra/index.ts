import { Mastra } from "@selvedge/core";
import { LibSQLStore } from "@selvedge/libsql";
import { assistant } from "./agents/assistant.ts";

export const mastra = new Mastra({
  agents: { assistant },
  storage: new LibSQLStore({ url: "file:./threads.db" }),
  notifications: { dispatch: { enabled: true } },
});
