import { expect, it } from "vitest";
import { questionIn } from "./question-in.ts";

it.each([
  [undefined, {}],
  ["Pay?", { question: "Pay?" }],
  [
    { question: "Pay?", amount: 4 },
    { question: "Pay?", rest: { amount: 4 } },
  ],
  [{ message: "Pay?" }, { question: "Pay?" }],
  [{ question: 5 }, { rest: { question: 5 } }],
  [{ question: "" }, { rest: { question: "" } }],
  [[1], { rest: [1] }],
  [null, { rest: null }],
])("takes the question out of %j", (payload, expected) => {
  expect(questionIn(payload)).toEqual(expected);
});
