export {
  MastraBrowser,
  type BrowserCloseReason,
  type BrowserOptions,
  type BrowserState,
  type BrowserStatus,
  type BrowserTab,
} from "../browser/mastra-browser.ts";
export { BrowserContextProcessor, type BrowserLaneValue } from "../browser/browser-context-processor.ts";
