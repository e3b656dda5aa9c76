export {
  RequestContext,
  RESOURCE_ID_KEY,
  RESOURCE_ID_KEY as MASTRA_RESOURCE_ID_KEY,
  THREAD_ID_KEY,
  THREAD_ID_KEY as MASTRA_THREAD_ID_KEY,
} from "../request-context/request-context.ts";
