/** What a resource holds: `text`, or `blob` in base64. */
export interface ResourceContent {
  uri: string;
  mimeType?: string;
  text?: string;
  blob?: string;
  _meta?: Record<string, unknown>;
}

/** The answer to reading a resource. */
export interface ReadResourceResult {
  contents: ResourceContent[];
  _meta?: Record<string, unknown>;
}
