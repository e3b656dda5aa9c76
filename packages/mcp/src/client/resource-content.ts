/** The content of a resource: `text`, or `blob` in base64. */
export interface ResourceContent {
  uri: string;
  mimeType?: string;
  text?: string;
  blob?: string;
  _meta?: Record<string, unknown>;
}

/** The result of reading a resource. */
export interface ReadResourceResult {
  contents: ResourceContent[];
  _meta?: Record<string, unknown>;
}
