/** `RuntimeContext` is the older name of `RequestContext`. */
export { RequestContext as RuntimeContext } from "../request-context/request-context.ts";
