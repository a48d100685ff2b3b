/** The responses of the server, as documented in `docs/console/api.md`. */

export interface Paged<T> {
  readonly data: readonly T[];
  readonly has_more: boolean;
  readonly next: string | null;
}

export interface Sliced<T> {
  readonly data: readonly T[];
  readonly from: number;
  readonly total: number;
  readonly version: string;
}

export type Counts = Readonly<Record<string, number>>;

export interface About {
  readonly version: string;
  readonly scope: "admin" | "user";
  readonly owner: string;
  readonly files: { readonly enabled: boolean; readonly why: string | null };
  readonly content: string;
  readonly agents: readonly string[];
  readonly rules: readonly {
    readonly code: string;
    readonly name: string;
    readonly summary: string;
  }[];
  readonly limits: { readonly feed: number; readonly minutes: number };
}

export interface Rule {
  readonly code: string;
  readonly name: string;
  readonly summary: string;
  readonly page: string;
}

export const HEALTHS = [
  "needs-repair",
  "history-missing",
  "refused",
  "unreadable",
  "repaired",
  "unknown",
  "ok",
] as const;
export type Health = (typeof HEALTHS)[number];

/** How many messages reach the model when the agent resumes a session. */
export interface Reach {
  readonly messages: number;
  readonly before: number;
  readonly after: number;
  readonly tokens: number;
  readonly tokens_before: number;
  readonly tokens_after: number;
}

export interface SessionRow {
  readonly source: "file" | "gateway";
  readonly id: string;
  readonly session: string;
  readonly agent: string | null;
  readonly product?: string | null;
  readonly title: string | null;
  readonly project?: string | null;
  readonly path?: string;
  readonly owner?: string;
  readonly touched: number;
  readonly size?: number;
  readonly messages?: number | null;
  readonly reach?: Reach | null;
  readonly runs?: number;
  readonly records?: number;
  readonly health: Health;
  readonly why?: string | null;
  readonly findings: Counts | null;
  readonly repairable?: boolean | null;
  readonly live: boolean | null;
  readonly parent?: string | null;
  readonly sub_agents?: number;
}

export interface SessionList extends Paged<SessionRow> {
  readonly scan?: {
    readonly state: "running" | "done";
    readonly looked: number;
    readonly total: number;
    readonly closed?: readonly { readonly path: string; readonly why: string }[];
  };
  readonly counts: Partial<Record<Health, number>>;
  readonly files: { readonly enabled: boolean; readonly why: string | null };
}

export interface Undo {
  readonly available: boolean;
  readonly at: number | null;
  readonly standing: "made" | "changed" | null;
}

export interface SessionView extends Omit<SessionRow, "live" | "records"> {
  readonly version: string;
  readonly started: string | null;
  readonly updated: string | null;
  readonly model: string | null;
  readonly agent_version: string | null;
  readonly format: string;
  readonly profile: string;
  readonly records: number;
  readonly torn: readonly number[];
  readonly calls: Readonly<
    Record<
      "total" | "answered" | "elsewhere" | "placeholder" | "open" | "duplicate" | "orphan",
      number
    >
  >;
  readonly branches: Readonly<Record<"path" | "branch" | "side" | "boundaries", number>>;
  readonly live: { readonly is: boolean; readonly who: string | null };
  readonly undo: Undo;
  /** The command that resumes the session; null if its agent has none. */
  readonly resume: string | null;
  readonly sub_agents_listed: readonly { readonly id: string; readonly session: string }[];
}

export type CallState = "answered" | "elsewhere" | "placeholder" | "failed" | "open";

export type MessagePart =
  | { readonly type: "text"; readonly text: string; readonly cut: number | null }
  | {
      readonly type: "thinking";
      readonly text: string;
      readonly sealed: boolean;
      readonly cut: number | null;
    }
  | {
      readonly type: "call";
      readonly id: string;
      readonly name: string;
      readonly arguments: string;
      readonly cut: number | null;
      readonly state?: CallState;
      readonly answer?: {
        readonly message: number;
        readonly error: boolean;
        /** Missing if the tool result is shown in its own message. */
        readonly parts?: readonly MessagePart[];
      } | null;
    }
  | {
      readonly type: "answer";
      readonly id: string;
      readonly name: string | null;
      readonly state?: string;
      readonly error: boolean;
      readonly parts: readonly MessagePart[];
    }
  | {
      readonly type: "media";
      readonly kind: string;
      readonly media_type: string | null;
      readonly name: string | null;
      readonly size: number | null;
    }
  | {
      readonly type: "other";
      readonly name: string;
      readonly text: string;
      readonly cut: number | null;
    };

export interface Message {
  readonly index: number;
  readonly role: string;
  readonly boundary?: boolean;
  readonly folded?: boolean;
  readonly same?: boolean;
  readonly time?: string | null;
  readonly line?: number | null;
  readonly beside?: { readonly branch: number; readonly side: number } | null;
  readonly findings?: readonly number[];
  readonly parts: readonly MessagePart[];
}

export interface TreeRow {
  readonly record: number;
  readonly line: number;
  readonly id: string | null;
  readonly parent: number | null;
  readonly kind: string;
  readonly role: string | null;
  readonly standing: "path" | "carried" | "recovered" | "branch" | "side" | "twin" | "aside";
  readonly message: number | null;
  readonly boundary: boolean;
  readonly time: string | null;
  readonly words: string | null;
}

export interface RecordRow {
  readonly line: number;
  readonly bytes: number;
  readonly text: string;
  readonly cut: number | null;
}

export interface FindingRow {
  readonly code: string;
  readonly name: string;
  readonly severity: string;
  readonly message: string;
  readonly at: number | null;
  readonly line: number | null;
  readonly partner: number | null;
  readonly calls: readonly string[];
  readonly tool: string | null;
  readonly fix: {
    readonly applicability: string;
    readonly strategy: string | null;
    readonly word: string | null;
  } | null;
}

export interface EditRow {
  readonly index: number;
  readonly code: string;
  readonly name: string;
  readonly summary: string;
  readonly strategy: string;
  readonly word: string;
  readonly message: number | null;
  readonly calls: readonly string[];
  readonly note: string;
}

export type PlanRow =
  | {
      readonly kind: "gap";
      readonly count: number;
      readonly before: number;
      readonly after: number;
    }
  | {
      readonly kind: "kept" | "changed" | "added" | "removed";
      readonly before: Message | null;
      readonly after: Message | null;
      readonly edits: readonly number[];
    };

export interface Plan extends Sliced<PlanRow> {
  readonly plan: string | null;
  readonly changes: boolean;
  readonly health: { readonly before: Health; readonly after: Health };
  readonly findings: { readonly before: Counts; readonly after: Counts };
  readonly messages: { readonly before: number; readonly after: number };
  readonly bytes: { readonly before: number; readonly after: number };
  readonly live: { readonly is: boolean; readonly who: string | null };
  readonly edits: readonly EditRow[];
  readonly edits_total: number;
}

export interface Applied {
  readonly applied: number;
  readonly fixed: number;
  readonly left: Counts;
  readonly health: Health;
  readonly version: string;
  readonly backup: string | null;
  readonly undo: Undo;
  /** The command that resumes the session; null if its agent has none. */
  readonly resume: string | null;
}

export interface Cut {
  readonly tokens: {
    readonly before: number;
    readonly after: number;
    readonly naive: number;
    readonly counting: string;
    readonly exact: boolean;
  };
  readonly messages: { readonly before: number; readonly after: number };
  readonly repaired: number;
  readonly naive: {
    readonly cut: number;
    readonly orphans: readonly {
      readonly call: {
        readonly id: string;
        readonly name: string | null;
        readonly message: number;
      };
      readonly answer: { readonly message: number };
      readonly lost: "call" | "answer";
    }[];
    readonly orphans_total: number;
    readonly sound: boolean;
  };
  readonly ours: {
    /** The first message that is kept after the cut; null if no message is removed. */
    readonly cut: number | null;
    readonly kept: readonly (readonly [number, number])[];
    readonly gone: readonly (readonly [number, number])[];
    readonly changed: readonly (readonly [number, number])[];
    readonly sound: boolean;
  };
  readonly weights: readonly number[];
  readonly weights_step?: number;
}

export interface RunRow {
  readonly id: string;
  readonly session: string;
  readonly epoch: number;
  readonly agent: string | null;
  readonly model: string | null;
  readonly started: number;
  readonly events: number;
  readonly state: "open" | "ended";
  readonly ended: number | null;
  readonly outcome: string | null;
  readonly text: string | null;
  readonly problem: { readonly code: string | null; readonly message: string } | null;
  readonly calls: { readonly total: number; readonly by_status: Counts } | null;
  readonly usage: Counts | null;
}

export interface Question {
  readonly question: string;
  readonly kind: "permission" | "questions";
  readonly tool: string;
  readonly call: string | null;
  readonly input: unknown;
}

export interface FeedRow {
  readonly id: string;
  readonly request: string;
  readonly at: number;
  readonly owner: string;
  readonly face: string;
  readonly agent: string | null;
  readonly model: string | null;
  readonly upstream: string | null;
  readonly match: string | null;
  readonly action: string;
  readonly findings: Counts;
  readonly status: number;
  readonly error: string | null;
  readonly ended: "whole" | "gone" | "broken";
  readonly first_ms: number | null;
  readonly ms: number;
  readonly bytes_in: number;
  readonly bytes_out: number;
  readonly session: string | null;
  readonly run: string | null;
  readonly repair: string | null;
}

export interface FeedView extends FeedRow {
  readonly changes:
    | readonly {
        readonly code: string;
        readonly strategy: string;
        readonly message: number;
        readonly calls: readonly string[];
        readonly note: string;
      }[]
    | null;
  /** The messages before and after the repair; null if content is not kept. */
  readonly rows: readonly PlanRow[] | null;
  readonly losses: readonly string[] | null;
  readonly compacted: { readonly tokens_before: number; readonly tokens_after: number } | null;
  readonly mode: string | null;
  readonly format: string | null;
  readonly body_before: string | null;
  readonly body_after: string | null;
}

export interface Percentiles {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
}

export interface Minute {
  readonly at: number;
  readonly requests: number;
  readonly status: Counts;
  readonly action: Counts;
  readonly findings: Counts;
  readonly repairs: Counts;
  readonly bytes_in: number;
  readonly bytes_out: number;
  readonly first_ms: Percentiles;
  readonly ms: Percentiles;
}

export interface Series {
  readonly step: number;
  readonly from: number;
  readonly minutes: readonly Minute[];
  readonly total: Omit<Minute, "at">;
}
