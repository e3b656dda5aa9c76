export { RequestContext, RESOURCE_ID_KEY, THREAD_ID_KEY } from "../request-context/request-context.ts";
