export { describeFailure, runSimulation, THREAD_WORLDS, WORKFLOW_WORLDS } from "./run-simulation.ts";
export type {
  KindOfWorld,
  RunSimulationOptions,
  SimulationFailure,
  SimulationReport,
} from "./run-simulation.ts";
export { simulate, type SimulateOptions, type SimulationResult } from "./simulate.ts";
export { type FaultPlan, NO_FAULTS } from "./fault-plan.ts";
export { type PlantedFault, PLANTED_FAULTS } from "./planted-faults.ts";
export { Random } from "./random.ts";
export { Violation } from "./world.ts";
export { SimDisk, SimFilesystem } from "./sim-filesystem.ts";
export { simulateWorkflows, type SimulateWorkflowsOptions } from "./workflow/simulate-workflows.ts";
export { buildFlow, type Execution, type FlowOutside } from "./workflow/build-flow.ts";
export { countKey, drawFlow, type DrawFlowOptions } from "./workflow/draw-flow.ts";
export { canonical, decide, digest, itemsOf, outputOf } from "./workflow/flow.ts";
export type { FlowDef, FlowNode, StepDef, Unit } from "./workflow/flow.ts";
export { executionKey, interpretFlow, type Expected, type FlowOracle } from "./workflow/interpret-flow.ts";
export { checkRun, type StoredRun } from "./workflow/check-run.ts";
export { WorkflowLedger, type Request, type ResumeRequest, type SimRun } from "./workflow/workflow-ledger.ts";
