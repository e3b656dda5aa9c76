/** A Standard Schema with its JSON form, written by hand: a handful of fields needs no schema library. */
export interface OwnSchema<Input, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    readonly validate: (value: unknown) => Reading<Output>;
    readonly jsonSchema: {
      input(options: { target: string }): Record<string, unknown>;
      output(options: { target: string }): Record<string, unknown>;
    };
  };
}

export type Reading<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string; readonly path?: readonly string[] }[] };

export function ownSchema<Input, Output = Input>(
  json: Record<string, unknown>,
  read: (value: unknown) => Reading<Output>,
): OwnSchema<Input, Output> {
  const form = (): Record<string, unknown> => structuredClone(json);
  return {
    "~standard": {
      version: 1,
      vendor: "selvedge",
      validate: read,
      jsonSchema: { input: form, output: form },
    },
  };
}

/** Accepts any object unchanged: for output of our own code. */
export function trustedSchema<Value>(json: Record<string, unknown>): OwnSchema<Value> {
  return ownSchema<Value>(json, (value) => ({ value: value as Value }));
}
