import { ERROR_CODES, type ErrorCode } from "./error-codes.ts";

const BRAND = Symbol.for("selvedge.AgentError");

/**
 * The one error class. `code` says what went wrong; `message` shows the offending value and what to do. Recognise it
 * with `AgentError.is`, which also works when two copies of this package are loaded.
 */
export class AgentError extends Error {
  readonly code: ErrorCode;
  readonly details: Record<string, unknown> | undefined;

  static {
    Object.defineProperty(this.prototype, BRAND, { value: true });
  }

  constructor(
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; details?: Record<string, unknown> } = {},
  ) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.name = "AgentError";
    this.code = code;
    this.details = options.details;
  }

  static is(value: unknown, code?: ErrorCode): value is AgentError {
    return (
      typeof value === "object" &&
      value !== null &&
      (value as { [BRAND]?: unknown })[BRAND] === true &&
      (code === undefined || (value as AgentError).code === code)
    );
  }

  get status(): number {
    return ERROR_CODES[this.code].status;
  }

  get retryable(): boolean {
    return ERROR_CODES[this.code].retryable;
  }

  toJSON(): { name: string; code: ErrorCode; message: string; details?: Record<string, unknown> } {
    return {
      name: this.name,
      code: this.code,
      message: this.message,
      ...(this.details && { details: this.details }),
    };
  }
}
