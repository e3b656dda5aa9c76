import { AgentError } from "@selvedge/core/errors";

/** The value of an arithmetic expression. Text that is not one gives an error that shows where it stops making sense. */
export function calculate(expression: string): number {
  const tokens = tokenize(expression);
  let at = 0;

  // sum → product → power → signed, each calling the next tighter one.
  function sum(): number {
    let value = product();
    while (tokens[at] === "+" || tokens[at] === "-") value += tokens[at++] === "+" ? product() : -product();
    return value;
  }
  function product(): number {
    let value = signed();
    while (tokens[at] === "*" || tokens[at] === "/") {
      if (tokens[at++] === "*") value *= signed();
      else value /= signed();
    }
    return value;
  }
  function signed(): number {
    if (tokens[at] !== "-") return power();
    at++;
    return -signed();
  }
  function power(): number {
    const base = atom();
    if (tokens[at] !== "^") return base;
    at++;
    return base ** signed();
  }
  function atom(): number {
    const token = tokens[at++];
    if (token === "(") {
      const value = sum();
      if (tokens[at++] !== ")") throw invalid(expression, 'a ")" is missing');
      return value;
    }
    if (token === undefined) throw invalid(expression, "it ends too early");
    if (!/^\d/.test(token)) throw invalid(expression, `"${token}" is where a number should be`);
    return Number(token);
  }

  const value = sum();
  if (at < tokens.length) throw invalid(expression, `"${tokens[at]}" is left over`);
  if (!Number.isFinite(value)) throw invalid(expression, "the result is not a finite number");
  return value;
}

function tokenize(expression: string): string[] {
  const tokens: string[] = [];
  const token = /\s*(\d+(?:\.\d+)?|[-+*/^()])/y;
  const text = expression.trimEnd();
  for (let end = 0; end < text.length; end = token.lastIndex) {
    token.lastIndex = end;
    const match = token.exec(text);
    if (!match) throw invalid(expression, `"${text.slice(end).trim()[0]}" is not an arithmetic character`);
    tokens.push(match[1]!);
  }
  return tokens;
}

function invalid(expression: string, why: string): AgentError {
  return new AgentError("invalid-argument", `${JSON.stringify(expression)} cannot be calculated: ${why}.`);
}
