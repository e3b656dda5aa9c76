export { Observability, type ObservabilityConfig, type ObservabilityOptions } from "./observability.ts";
export {
  CloudExporter,
  ConsoleExporter,
  DefaultExporter,
  type Exporter,
  MastraPlatformExporter,
  MastraStorageExporter,
} from "./exporter.ts";
export { type SamplingStrategy, SamplingStrategyType } from "./sampling.ts";
export { SensitiveDataFilter, type SensitiveDataFilterOptions } from "./sensitive-data-filter.ts";
