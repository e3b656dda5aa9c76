// The names of @mastra/core/utils that programs use.
export { maskStreamTags } from "../switching/mask-stream-tags.ts";
