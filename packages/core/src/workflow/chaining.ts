import type { InferInput, InferOutput, Schema } from "../schema/schema.ts";
import type { Tool } from "../tool/tool.ts";
import type { AgentLike } from "./agent-like.ts";
import type { StepLike } from "./step.ts";

/** What a step can be made from where one is expected. */
export type Chainable = StepLike<string, any, any, any, any, any> | Tool<any, any> | AgentLike;

/** What something accepts as a step. */
type InputOf<Of> = Of extends { readonly "~step"?: { input: infer In } | undefined }
  ? In
  : Of extends Tool<infer In, any>
    ? In extends Schema
      ? InferInput<In>
      : any
    : Of extends AgentLike
      ? { prompt: string }
      : any;

/** What it returns as a step. */
export type OutputOf<Of> = Of extends { readonly "~step"?: { output: infer Out } | undefined }
  ? Out
  : Of extends Tool<any, infer Out>
    ? Out extends Schema
      ? InferOutput<Out>
      : any
    : Of extends AgentLike
      ? { text: string }
      : any;

/** What `resume` must bring for a step, or for the last of a path of steps. */
export type ResumeOf<Of> = Of extends readonly [...unknown[], infer Last]
  ? ResumeOf<Last>
  : Of extends { readonly "~step"?: { resume: infer Resume } | undefined }
    ? Resume
    : any;

/** The compiler shows this when a step does not accept what comes before it. */
interface InputMismatch<Given, Expected> {
  "This step does not accept the output of the previous one": { previousOutput: Given; stepInput: Expected };
}

/** Nothing if a step accepts a value, otherwise a requirement that no step meets. */
export type Accepts<Given, Of> = [Given] extends [InputOf<Of>]
  ? unknown
  : FitsByKey<Given, InputOf<Of>> extends true
    ? unknown
    : InputMismatch<Given, InputOf<Of>>;

/** The compiler does not know the ids of agents: outputs by such ids fit if each of them fits the key that is named. */
type FitsByKey<Given, In> = string extends keyof Given
  ? In extends object
    ? { [Key in keyof In]: Given[keyof Given] } extends In
      ? true
      : false
    : false
  : false;

/** The outputs of several steps by their ids. */
export type OutputsById<Steps extends readonly Chainable[]> = {
  [Of in Steps[number] as Of["id"]]: OutputOf<Of>;
};
