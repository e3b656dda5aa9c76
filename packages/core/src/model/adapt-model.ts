import type { LanguageModelV2, LanguageModelV3, LanguageModelV4 } from "@ai-sdk/provider";
import { AgentError } from "../errors.ts";
import { adaptV2 } from "./adapt-v2.ts";
import { adaptV3 } from "./adapt-v3.ts";
import { withStream } from "./generated-stream.ts";
import { modelName } from "./model-name.ts";
import type { LanguageModel } from "./model.ts";
import { findProvider } from "./provider-registry.ts";

type AnyModel = LanguageModelV2 | LanguageModelV3 | LanguageModelV4;

/** Whether this is an AI SDK model object of any specification, including unsupported ones. */
export function isModelObject(value: unknown): value is AnyModel {
  if (typeof value !== "object" && typeof value !== "function") return false;
  const { doStream, doGenerate } = Object(value) as Partial<AnyModel>;
  return typeof doStream === "function" || typeof doGenerate === "function";
}

/** Adapts a model to specification v4. A v4 model is returned unchanged, unless it cannot stream. */
export function adaptModel(model: AnyModel): LanguageModel {
  const adapted = toV4(model);
  return typeof model.doStream === "function" ? adapted : withStream(adapted);
}

function toV4(model: AnyModel): LanguageModel {
  switch (model.specificationVersion) {
    case "v4":
      return model;
    case "v3":
      return adaptV3(model);
    case "v2":
      return adaptV2(model);
    default:
      throw unsupported(model);
  }
}

function unsupported(model: {
  specificationVersion?: string;
  provider?: string;
  modelId?: string;
}): AgentError {
  const version = model.specificationVersion ?? "v1";
  const provider = model.provider ?? "unknown";
  const [family = provider] = provider.split(".", 1);
  const packageName = findProvider(family)?.package ?? `@ai-sdk/${family}`;
  const name = modelName({ provider, modelId: model.modelId ?? "unknown" });
  const advice =
    version === "v1"
      ? `Upgrade its package: npm install ${packageName}@latest (releases made for AI SDK 5, 6 or 7 work; AI SDK 4 is too old).`
      : `Use a release of ${packageName} made for AI SDK 5, 6 or 7, or a newer Selvedge.`;
  return new AgentError(
    "model-unsupported",
    `Model ${name} has AI SDK specification ${version}; only v2, v3 and v4 are supported. ${advice}`,
    { details: { model: name, specificationVersion: version, package: packageName } },
  );
}
