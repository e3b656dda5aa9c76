/** A text for the system message, or a function of the usual text. */
export type InstructionsOption = string | ((context: { defaultInstructions: string }) => string);

export function toInstructions(option: InstructionsOption | undefined, defaultInstructions: string): string {
  return typeof option === "function" ? option({ defaultInstructions }) : (option ?? defaultInstructions);
}
