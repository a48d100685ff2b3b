import type { CheckOptions, FixReport } from "foxwedge";

export interface RepairingFetchOptions extends CheckOptions {
  /** What sends; the global `fetch` if it is missing. */
  fetch?: typeof globalThis.fetch;
  /** Gets the report of every body that was changed. */
  onRepair?: (report: FixReport<string | Uint8Array>) => void;
}

/** A `fetch` that repairs the bodies of requests to models, and passes everything else as it is. */
export function repairingFetch(options?: RepairingFetchOptions): typeof globalThis.fetch;
