// Models
export { startModelServer, type ModelServer, type ServedReply, type ServedRequest } from "./model-server.ts";
export {
  scriptedModel,
  type Script,
  type ScriptedCall,
  type ScriptedModel,
  type ScriptedModelOptions,
  type ScriptedModelV2,
  type ScriptedModelV3,
  type ScriptedReply,
  type ScriptedToolCall,
  type ScriptedUsage,
} from "./scripted-model.ts";
export { cuttingProxy, type CuttingProxy } from "./cutting-proxy.ts";
export { freePort } from "./free-port.ts";
// Time and ids
export { VirtualClock, type Waiting } from "./virtual-clock.ts";
export { virtualSystem, type VirtualSystem, type VirtualSystemOptions } from "./virtual-system.ts";

export { growthOf } from "./growth-of.ts";

// Networks
export { startRecordingServer, type RecordedRequest, type RecordingServer } from "./recording-server.ts";
