export { AgentBrowser, type AgentBrowserOptions } from "./agent-browser.ts";
