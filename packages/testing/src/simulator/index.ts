export { describeFailure, runSimulation } from "./run-simulation.ts";
export type { RunSimulationOptions, SimulationFailure, SimulationReport } from "./run-simulation.ts";
export { simulate, type SimulateOptions, type SimulationResult } from "./simulate.ts";
export { type FaultPlan, NO_FAULTS } from "./fault-plan.ts";
export { type PlantedFault, PLANTED_FAULTS } from "./planted-faults.ts";
export { Random } from "./random.ts";
export { Violation } from "./world.ts";
export { SimDisk, SimFilesystem } from "./sim-filesystem.ts";
