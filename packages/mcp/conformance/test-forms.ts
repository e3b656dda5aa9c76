export const form = (properties: Record<string, unknown>): Record<string, unknown> => ({
  type: "object",
  properties,
  required: Object.keys(properties),
});

const optional = (properties: Record<string, unknown>): Record<string, unknown> => ({
  type: "object",
  properties,
});
const titled = (word: string) =>
  ["First", "Second", "Third"].map((place, index) => ({
    const: `value${index + 1}`,
    title: `${place} ${word}`,
  }));
const OPTIONS = ["option1", "option2", "option3"];

export const FORM_WITH_DEFAULTS = optional({
  name: { type: "string", default: "John Doe" },
  age: { type: "integer", default: 30 },
  score: { type: "number", default: 95.5 },
  status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
  verified: { type: "boolean", default: true },
});

export const ENUM_FORM = optional({
  untitledSingle: { type: "string", enum: OPTIONS },
  titledSingle: { type: "string", oneOf: titled("Option") },
  legacyEnum: {
    type: "string",
    enum: ["opt1", "opt2", "opt3"],
    enumNames: ["Option One", "Option Two", "Option Three"],
  },
  untitledMulti: { type: "array", minItems: 1, maxItems: 3, items: { type: "string", enum: OPTIONS } },
  titledMulti: { type: "array", minItems: 1, maxItems: 3, items: { anyOf: titled("Choice") } },
});
