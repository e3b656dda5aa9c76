// For serving untrusted callers: isolates owners and blocks internal hosts.
export { FairTable } from "../guard/fair-table.ts";
export { isPrivateHost, systemAddresses, type ResolveHost } from "../guard/is-private-host.ts";
export { toLimits } from "../guard/to-limits.ts";
export { Quota } from "../guard/quota.ts";
export { safeMessage, safeOutput, safeWaitingCall } from "../guard/safe-output.ts";
export { transcriptPart } from "../guard/transcript-part.ts";
export { toJson } from "../json.ts";
export { OPTION_NAMES, OPTION_RULES, type OptionRule } from "../run/option-rules.ts";
export { backoff, isObject } from "@selvedge/protocol";

// Options that nothing reads.
export { defaultLogger } from "../logger.ts";
export { type OptionNames, warnUnknownOptions } from "../unknown-options.ts";
