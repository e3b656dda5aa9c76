/** The names of a role's settings: in a session and its thread, and in `omConfig`. */
export const OM_KEYS = {
  observer: {
    model: "observerModelId",
    threshold: "observationThreshold",
    defaultModel: "defaultObserverModelId",
    defaultThreshold: "defaultObservationThreshold",
  },
  reflector: {
    model: "reflectorModelId",
    threshold: "reflectionThreshold",
    defaultModel: "defaultReflectorModelId",
    defaultThreshold: "defaultReflectionThreshold",
  },
} as const;
