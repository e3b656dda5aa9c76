/** What `selvedge dev` gives the process that serves. */
export interface DevSettings {
  /** The module that exports `mastra`; the demo when absent. */
  entry: string | undefined;
  host: string;
  /** The first port to try; `undefined` means that of the project, or 4111. */
  port: number | undefined;
  /** Whether a port that is taken may be passed over. */
  anyPort: boolean;
  model: string | undefined;
  storage: string;
}

/** What that process tells. */
export type DevMessage =
  | { kind: "file"; file: string }
  | { kind: "ready"; url: string; port: number; about: string }
  /** `final`: no change of a file will mend it, for what failed is the address or the demo. */
  | { kind: "failed"; message: string; needsTransform: boolean; final: boolean };
