/** A wire format, or a message list of the AI SDK. */
export type Format =
  | "openai-chat"
  | "openai-responses"
  | "anthropic"
  | "gemini"
  | "bedrock"
  | "gemini-interactions"
  | "ai-sdk-ui"
  | "ai-sdk-model";

/** Whose rules apply. */
export type Profile = Exclude<Format, "ai-sdk-ui" | "ai-sdk-model"> | "mistral" | "deepseek" | "strict";

/** Whose session files are read. */
export type Agent = "claude-code" | "codex" | "gemini-cli" | "neovate" | "cline";

/** What repairs may do. */
export interface RepairOptions {
  /** Calls without a result get a placeholder (the default), or go with their message, or alone. */
  unanswered?: "answer" | "drop-turn" | "drop-call";
  /** Results without a call become text (the default), or go. */
  orphans?: "quote" | "drop";
  /** Open calls at the end are abandoned (the default) or still running. */
  tail?: "dead" | "pending";
  /** Also fixes that need a decision. */
  unsafeFixes?: boolean;
  /** The language of generated texts. */
  language?: "en" | "zh";
}

export interface CheckOptions extends RepairOptions {
  /** Without it, the document is recognized. */
  format?: Format;
  profile?: Profile;
  agent?: Agent;
  /** Rules that are not checked: `"FW101"` or `"unanswered-call"`. */
  ignore?: string[];
  /** Session files: also what the agent tolerates, because a provider would refuse it. */
  forApi?: boolean;
}

export interface Finding {
  code: string;
  rule: string;
  severity: "error" | "warning";
  message: string;
  /** The message, counted from 0. */
  index: number;
  /** Bytes of the document. */
  start: number;
  end: number;
  ids: string[];
  tool: string | null;
  fix: "safe" | "unsafe" | null;
}

export interface Edit {
  code: string;
  rule: string | null;
  strategy: string;
  /** The message of the input, counted from 0. */
  index: number;
  ids: string[];
  reason: string;
}

export interface Losses {
  thinkingBlocksRemoved: number;
  textsRemoved: number;
  toolCallsRemoved: number;
  toolResultsRemoved: number;
  otherPartsRemoved: number;
  resultsQuoted: number;
  placeholdersWritten: number;
}

export interface CheckReport {
  format: string;
  profile: Profile | null;
  valid: boolean;
  messageCount: number;
  /** All findings; `findings` lists the first of each rule. */
  total: number;
  findings: Finding[];
  /** Session files: what the findings mean for the agent. */
  health?: "ok" | "history-missing" | "broken";
}

type Message<Input> = Input extends readonly (infer One)[] ? One : unknown;

/** In the form of the input. What did not change is the same object. */
export interface Result<Input> {
  document: Input;
  /** The list of messages; missing for texts and bytes. */
  messages: Message<Input>[];
}

export interface FixReport<Input> extends CheckReport, Result<Input> {
  changed: boolean;
  edits: Edit[];
  losses: Losses;
}

export interface ConversionLoss {
  kind: string;
  note: string;
}

export interface ConvertOptions extends RepairOptions {
  from?: Format;
  to: Format;
  profile?: Profile;
  /** Tool calls as text, for models without tools. */
  tools?: "native" | "text";
  model?: string;
}

export interface ConvertReport {
  from: string;
  to: string;
  valid: boolean;
  messageCount: number;
  losses: ConversionLoss[];
  edits: Edit[];
  findings: Finding[];
  renamed: { old: string; new: string }[];
  renamedTools: { old: string; new: string }[];
  document: any;
  messages: any[];
}

export interface CompactOptions extends RepairOptions {
  format?: Format;
  profile?: Profile;
  /** The most that may be left; four bytes count as one token. */
  maxTokens: number;
  /** What it is compacted to once it is longer than that. */
  goalTokens?: number;
}

export interface CompactReport<Input> extends Result<Input> {
  format: string;
  changed: boolean;
  tokensBefore: number;
  tokensAfter: number;
  /** The messages that are gone, counted from 0. */
  removed: number[];
}

export interface Explanation {
  known: boolean;
  code?: string | null;
  rule?: string | null;
  provider?: string;
  advice?: string;
  ids?: string[];
  index?: number | null;
}

export interface SessionHistory {
  agent: Agent;
  format: Format;
  id: string | null;
  title: string | null;
  folder: string | null;
  version: string | null;
  model: string | null;
  started: string | null;
  updated: string | null;
  health: "ok" | "history-missing" | "broken";
  messageCount: number;
  losses: ConversionLoss[];
  /** The conversation, in the format of its provider. */
  history: any;
}

/** What is wrong with a request, a list of messages or a session file. */
export function check(input: unknown, options?: CheckOptions): CheckReport;

/** A valid history. Where nothing was wrong, it is the same array with the same objects. */
export function fix<Input>(input: Input, options?: CheckOptions): FixReport<Input>;

/** A shorter history, in which every call keeps its result. */
export function compact<Input>(input: Input, options: CompactOptions): CompactReport<Input>;

/** A request in another format. */
export function convert(input: unknown, options: ConvertOptions): ConvertReport;

/** A response body in another format. */
export function convertResponse(
  input: unknown,
  options: { from: Format; to: Format; model?: string },
): { from: string; to: string; failed: boolean; losses: ConversionLoss[]; document: any };

/** What an error text of a provider means, and what helps. */
export function explain(text: string): Explanation;

/** Every rule. */
export function rules(): { code: string; rule: string; summary: string }[];

/** Session files of agents. */
export const sessions: {
  read(input: string | Uint8Array, options?: { agent?: Agent }): SessionHistory;
  check(input: string | Uint8Array, options?: CheckOptions): CheckReport;
  fix<Input extends string | Uint8Array>(input: Input, options?: CheckOptions): FixReport<Input>;
};

export interface StreamOptions {
  from: Format;
  to: Format;
  model?: string;
  /** Makes generated ids unique. */
  seed?: string;
  /** Unix seconds, for replies without a time. */
  created?: number;
}

/** Converts a stream: push what arrives, send on what it returns, and finish. */
export class StreamConverter {
  constructor(options: StreamOptions);
  /** What can be sent on. Of a broken stream that is also the event of the failure; the next call throws. */
  push(piece: string | Uint8Array): Uint8Array;
  finish(): {
    complete: boolean;
    failed: boolean;
    losses: ConversionLoss[];
    renamed: { old: string; new: string }[];
    /** What the reply leaves in the history, without calls that were cut off; `null` if it was too long to be kept. */
    messages: any[] | null;
    rest: Uint8Array;
  };
  /** Forgets a stream that is not to be finished. */
  close(): void;
  /** The same as a web stream. */
  static transform(options: StreamOptions): TransformStream<Uint8Array, Uint8Array>;
}

/** What every failure is. */
export class FoxwedgeError extends Error {
  /** `invalid-options`, `unknown-format`, `unreadable`, `cannot-compact`, `not-loaded`, `internal`, … */
  readonly kind: string;
  /** The byte of the document where reading stopped. */
  readonly at: number | null;
}

/** Where a module comes from; without it, from beside the package's files. */
export type ModuleSource = BufferSource | Response | WebAssembly.Module | Promise<Response>;

/** Browsers and edge runtimes: loads the smallest engine, for `check` and `fix` of requests. */
export function loadCheck(source?: ModuleSource): Promise<void>;

/** Browsers and edge runtimes: loads the engine for requests. Elsewhere there is nothing to wait for. */
export function load(source?: ModuleSource): Promise<void>;

/** Browsers and edge runtimes: loads everything, also session files, lists of the AI SDK, streams and explanations. */
export function loadAll(source?: ModuleSource): Promise<void>;
