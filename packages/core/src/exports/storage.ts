// The contract, for store users.
export { MastraCompositeStore, type CompositeStoreOptions } from "../switching/composite-store.ts";
export { Storage } from "../storage/storage.ts";
export type {
  Change,
  ColumnValue,
  Commit,
  CommitOptions,
  CommitOutcome,
  CommitResult,
  Comparison,
  Row,
  Select,
  StorageDomains,
  StorageDriver,
  Where,
  Write,
} from "../storage/storage.ts";
export { insert, remove, requireNone, requireRow, update } from "../storage/writes.ts";
export { keysOf } from "../storage/keys-of.ts";
export { commitTogether } from "../storage/commit-together.ts";
export { KeyLines } from "../storage/key-lines.ts";
export type { PruneReport, Retention } from "../storage/prune.ts";
export { InMemoryDriver } from "../storage/in-memory-driver.ts";
export { InMemoryStorage, InMemoryStore } from "../storage/in-memory-storage.ts";

// Threads, messages and resources.
export { ThreadDomain } from "../storage/thread-domain.ts";
export type { ListThreadsOptions, ListThreadsResult } from "../storage/thread-domain.ts";
export type { ListMessagesOptions, ListMessagesResult } from "../storage/list-messages.ts";
export type { CloneThreadOptions, CloneThreadResult } from "../storage/clone-thread.ts";
export type { SearchMessagesOptions } from "../storage/search-messages.ts";
export type { StoredResource } from "../storage/resource-rows.ts";
export type { Page, PageOptions } from "../storage/page.ts";
export {
  insertMessage,
  insertThread,
  putStep,
  setMessageMetadata,
  touchThread,
} from "../storage/message-writes.ts";

// The notification inbox.
export { NotificationDomain } from "../storage/notification-domain.ts";
export type { DueOptions, ListNotificationsOptions } from "../storage/notification-domain.ts";
export type { NotificationInput, NotificationPatch } from "../storage/notification-rows.ts";

// For packages that keep their own tables in a store.
export type { Domain } from "../storage/domain.ts";
export { cloneThread } from "../storage/clone-thread.ts";
export { assemble } from "../storage/list-messages.ts";

// Named values of threads.
export { ThreadStateDomain } from "../storage/thread-state-domain.ts";
export type { ThreadStateValue } from "../storage/thread-state-domain.ts";

// For store authors.
export {
  MESSAGES,
  MESSAGE_STEPS,
  READABLE_FROM,
  RESOURCES,
  SCHEMA_VERSION,
  TABLES,
  THREADS,
} from "../storage/tables.ts";
export type { ColumnType, RowOf, Table } from "../storage/table.ts";
export { toConditions } from "../storage/conditions.ts";
export type { Condition } from "../storage/conditions.ts";
export {
  columnType,
  decodeRow,
  encodeCell,
  encodeNewRow,
  encodeRow,
  mergeCell,
} from "../storage/row-codec.ts";
export type { Cell, Cells } from "../storage/row-codec.ts";
export { checkSelect } from "../storage/check-select.ts";
export { checkId, checkMetadata, cleanText } from "../storage/check-id.ts";
export { noThread } from "../storage/no-thread.ts";
export { realSystem, sleep } from "../system.ts";
export type { IdentifiedProcess, MachineProcesses, System } from "../system.ts";

// The rows of observational memory.
export {
  keyOf as omKeyOf,
  newRecord as newOmRecord,
  type OmAddress,
  partOf as omPartOf,
} from "../storage/om-address.ts";
export { clearWrites as clearOmWrites, OM_DOMAIN, OmDomain, type OmState } from "../storage/om-domain.ts";
export {
  type BufferedObservationChunk,
  logOf as omLogOf,
  type ObservationalMemoryRecord,
  type OmHints as OmChunkHints,
  type OmHistoryOptions,
} from "../storage/om-record.ts";
export {
  OM_CHUNKS,
  OM_EVENTS,
  OM_JOBS,
  OM_RECORDS,
  type OmChunkRow,
  type OmEventRow,
  type OmJobRow,
  type OmRecordRow,
} from "../storage/om-tables.ts";
