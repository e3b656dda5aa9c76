export { AgentError, errorMessage } from "../errors.ts";
