import { AgentError, showValue } from "../errors.ts";

export interface PageOptions {
  /** Counted from 0. */
  page?: number | undefined;
  /** `false` for everything on one page. */
  perPage?: number | false | undefined;
}

export interface Page {
  total: number;
  page: number;
  perPage: number | false;
  hasMore: boolean;
}

export interface Window {
  limit: number | undefined;
  offset: number;
  page(total: number): Page;
}

export function toWindow({ page = 0, perPage }: PageOptions, defaultPerPage: number): Window {
  const size = perPage ?? defaultPerPage;
  if (!isCount(page))
    throw new AgentError("invalid-argument", `page must be 0 or more, got ${showValue(page)}.`);
  if (size !== false && !isCount(size)) {
    throw new AgentError(
      "invalid-argument",
      `perPage must be 0 or more, or false for all, got ${showValue(size)}.`,
    );
  }
  const offset = size === false ? 0 : page * size;
  return {
    limit: size === false ? undefined : size,
    offset,
    page: (total) => ({
      total,
      page: size === false ? 0 : page,
      perPage: size,
      hasMore: size !== false && offset + size < total,
    }),
  };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
