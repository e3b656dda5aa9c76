import { type ModelSpec, type StepSpec, type Pace } from "../lib/script.ts";
/** The last tool call id after the last user message, in a language-model-spec prompt. */
export declare function lastToolCallId(prompt: any[]): string | undefined;
export declare function streamParts(step: StepSpec): any[];
export declare function partsStream(parts: any[], pace?: Pace): ReadableStream<any>;
/** A hand-written model object of the AI SDK language model specification, v3 or v4. */
export declare function aiSdkModel(specificationVersion: "v3" | "v4", spec: ModelSpec): any;
//# sourceMappingURL=ai-sdk-model.d.ts.map
