// A lint rule of our own, loaded by .oxlintrc.json: `new Date()` and `Date()` read the clock, `new Date(value)` does not.
const MESSAGE = "This reads the clock. Take the time from `System` (packages/core/src/system.ts).";

export default {
  meta: { name: "selvedge" },
  rules: {
    "no-clock-date": {
      create(context) {
        const check = (node) => {
          if (node.callee.type !== "Identifier" || node.callee.name !== "Date") return;
          if (node.type === "CallExpression" || node.arguments.length === 0) {
            context.report({ message: MESSAGE, node });
          }
        };
        return { NewExpression: check, CallExpression: check };
      },
    },
  },
};
