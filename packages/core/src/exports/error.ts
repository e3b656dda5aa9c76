// The names of @mastra/core/error.
export {
  ErrorCategory,
  type ErrorDefinition as IErrorDefinition,
  ErrorDomain,
  MastraError,
  MastraError as MastraBaseError,
} from "../switching/mastra-error.ts";
