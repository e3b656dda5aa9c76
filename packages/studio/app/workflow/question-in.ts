const NAMES = ["question", "message", "reason"] as const;

/** What a step asks, if its payload has it as text, and what else it says. */
export function questionIn(payload: unknown): { question?: string; rest?: unknown } {
  if (payload === undefined) return {};
  if (typeof payload === "string") return { question: payload };
  if (typeof payload !== "object" || payload === null || Array.isArray(payload)) return { rest: payload };
  const values = payload as Record<string, unknown>;
  const name = NAMES.find((each) => typeof values[each] === "string" && values[each] !== "");
  if (name === undefined) return { rest: payload };
  const { [name]: question, ...rest } = values;
  return { question: question as string, ...(Object.keys(rest).length > 0 && { rest }) };
}
