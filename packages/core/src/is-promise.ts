/** Whether an answer has to be waited for. */
export function isPromise<Value>(answer: Value | PromiseLike<Value>): answer is PromiseLike<Value> {
  return typeof (answer as PromiseLike<Value> | undefined)?.then === "function";
}
