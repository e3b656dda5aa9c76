export { AgentError, errorMessage, UNEXPECTED_CODES } from "../errors.ts";
