import type { ModuleSource } from "foxwedge";

/** The words in which events come: see `EventOf`. */
export type EventWords = "events" | "agent" | "agui" | "ai-sdk" | "acp";

/** How a tool call stands. `interrupted`: it may have run. `handed_over`: a question went to a person. */
export type ToolStatus =
  | "unknown"
  | "pending"
  | "awaiting_approval"
  | "running"
  | "succeeded"
  | "failed"
  | "denied"
  | "cancelled"
  | "interrupted"
  | "handed_over";

/** How a run ended. */
export type Outcome =
  | "completed"
  | "stopped"
  | "failed"
  | "no_text"
  | "max_turns"
  | "refused"
  | "replaced"
  | "interrupted";

interface EventHead {
  runId: string;
  /** The number of the run in its session. */
  epoch?: number;
  /** The place in the run, from 1. */
  seq?: number;
  /** Milliseconds since 1970. */
  at?: number;
}

interface CallHead extends EventHead {
  toolCallId?: string;
  toolId?: string;
  turn?: number;
}

interface TextFields extends EventHead {
  messageId?: string;
  parentToolCallId?: string;
  delta?: string;
  full?: string;
}

interface RequestFields extends CallHead {
  requestId?: string;
  prompt?: string;
  choices?: unknown;
}

interface ReplyFields extends CallHead {
  requestId?: string;
  verdict: "allowed" | "denied" | "answered" | "cancelled";
  answer?: unknown;
}

export interface TokenUsage {
  input: number;
  output: number;
  cached: number;
  reasoning: number;
}

export interface RunProblem {
  message: string;
  code?: string;
  fatal: boolean;
}

/** An event of a run, as `foxwedge follow` writes it. */
export type RunEvent =
  | (EventHead & { type: "run-started"; sessionId?: string; parentRunId?: string; agent?: string; model?: string })
  | (EventHead & { type: "tools-available"; version?: number; ready: boolean; tools: string[] })
  | (EventHead & { type: "turn-started"; turn?: number; messageId?: string })
  | (TextFields & { type: "text" | "thought" })
  | (CallHead & {
      type: "tool-call";
      name?: string;
      parentToolCallId?: string;
      input?: unknown;
      title?: string;
      status?: ToolStatus;
    })
  | (CallHead & { type: "tool-arguments"; delta: string })
  | (CallHead & { type: "tool-progress"; content?: unknown })
  | (CallHead & {
      type: "tool-result";
      name?: string;
      status: ToolStatus;
      isError: boolean;
      how?: string;
      reason?: string;
      content?: unknown;
    })
  | (CallHead & { type: "tool-cancelled" | "timed-out" })
  | (RequestFields & { type: "approval-asked" | "question-asked" })
  | (ReplyFields & { type: "approval-answered" | "question-answered" })
  | (EventHead & { type: "tasks"; tasks: { id?: string; content: string; status: string; activeForm?: string }[] })
  | (EventHead & { type: "usage"; tokenUsage: TokenUsage })
  | (EventHead & { type: "activity"; kind: string; activityId?: string; content?: unknown })
  | (EventHead & RunProblem & { type: "error" })
  | (EventHead & { type: "stop"; grace: number })
  | (EventHead & {
      type: "run-ended";
      reason?: Outcome;
      finalContent?: string;
      error?: RunProblem;
      tokenUsage?: TokenUsage;
    })
  | (EventHead & { type: "unknown"; kind: string; raw: unknown });

interface DesktopHead {
  runId: string;
  runEpoch?: number;
  timestamp?: number;
}

interface DesktopCall extends DesktopHead {
  toolCallId?: string;
  toolId?: string;
  id?: string;
  turn?: number;
}

/** An event in the words of a desktop agent. `how` and `outcome` are the exact words of `RunEvent`. */
export type DesktopEvent =
  | (DesktopHead & { type: "agent:run-start"; startedAt?: number; conversationId?: string; agent?: string; model?: string })
  | (DesktopHead & {
      type: "agent:tools-available";
      emittedAt?: number;
      snapshotVersion?: number;
      phase: "initializing" | "ready";
      tools: string[];
      toolCount: number;
    })
  | (DesktopHead & {
      type: "agent:message";
      messageId?: string;
      parentToolCallId?: string;
      content?: string;
      delta?: string;
      isComplete: boolean;
      isStreaming: boolean;
    })
  | (DesktopHead & {
      type: "agent:thought";
      parentToolCallId?: string;
      thought: { id?: string; type: "thinking"; content: string };
    })
  | (DesktopCall & {
      type: "agent:tool-call";
      name?: string;
      parentToolCallId?: string;
      input?: unknown;
      description?: string;
      status?: "unknown" | "pending" | "waiting_approval" | "running";
      requiresApproval?: boolean;
      requestId?: string;
      choices?: unknown;
    })
  | (DesktopCall & {
      type: "agent:tool-result";
      status: "success" | "error" | "cancelled";
      isError: boolean;
      how?: ToolStatus;
      reason?: string;
      result: unknown;
    })
  | (DesktopHead & { type: "agent:error"; error: string; code?: string })
  | (DesktopHead & {
      type: "agent:complete";
      terminalAt?: number;
      reason: "completed" | "stopped" | "error" | "no_text";
      outcome?: Outcome;
      duration?: number;
      finalContent?: string;
      tokenUsage?: { inputTokens: number; outputTokens: number; cacheReadTokens: number; reasoningTokens: number };
    });

/** What events are, in these words: AG-UI events, chunks of the AI SDK and messages of ACP have their own types. */
export type EventOf<Words extends EventWords> = Words extends "events"
  ? RunEvent
  : Words extends "agent"
    ? DesktopEvent
    : Record<string, any>;

export interface FollowOptions<Words extends EventWords = "events"> {
  /** Whose messages come; `claude-code` is also the Claude Agent SDK, `codex` also the Codex SDK. */
  agent?: "claude-code" | "codex" | "gemini-cli" | "events";
  /** The id of the first run; later ones get a number behind it, or a name with `prompt`. */
  run?: string;
  /** The session that user interfaces know: `agui` and `acp` need it. */
  session?: string;
  words?: Words;
  /** More tools that ask people, besides `AskUserQuestion` and `ExitPlanMode`: their denial is a hand-over. */
  interactive?: string[];
  /** A clock in milliseconds, such as `Date.now`. Without it, events have the times of the messages only. */
  clock?: () => number;
}

/** A call that the agent asks about, as `canUseTool` gets it. */
export interface ToolQuestion {
  toolUseID: string;
  toolName?: string;
  input?: unknown;
  title?: string;
  description?: string;
  suggestions?: unknown;
}

/** What a host answers: what `canUseTool` returns, or the answers to a question. */
export type HostDecision =
  | (ToolQuestion & { behavior: "allow"; updatedInput?: unknown })
  | (ToolQuestion & { behavior: "deny"; message?: string; interrupt?: boolean })
  | (ToolQuestion & { answers: unknown });

/** How the agent's process ended: what Node's `exit` event says. Nothing: only its messages ended. */
export interface AgentExit {
  code?: number | null;
  signal?: string | number | null;
}

/** Follows an agent: what it printed and what its host did in, events out. */
export class AgentFollower<Words extends EventWords = "events"> {
  constructor(options?: FollowOptions<Words>);
  /** What the agent is doing. */
  readonly state: "idle" | "streaming" | "waiting" | "complete";
  /** The calls that it waits for. */
  readonly calls: string[];
  /** A message of the agent: an object, or a line of JSON. What cannot be read is an `unknown` event. */
  message(message: unknown): EventOf<Words>[];
  /** The agent asks whether a call may run. */
  asked(question: ToolQuestion): EventOf<Words>[];
  /** The host decided. Throws `unknown-call` if no such call waits. */
  decision(decision: HostDecision): EventOf<Words>[];
  /** The host sent a prompt, which starts a run; `run` names it. */
  prompt(message: unknown, options?: { run?: string }): EventOf<Words>[];
  /** The host interrupted the agent. */
  interrupt(): EventOf<Words>[];
  /** A line of the agent's own protocol that its host sent. */
  host(message: unknown): EventOf<Words>[];
  /** An end that the agent announced, and could still take back, counts now. */
  settle(): EventOf<Words>[];
  /** The agent is gone: what is open is closed, and the follower cannot be used any more. */
  finish(exit?: AgentExit): EventOf<Words>[];
  /** Forgets an agent that is not to be finished. */
  close(): void;
}

/** Browsers and edge runtimes: loads the follower. Elsewhere there is nothing to wait for. */
export function loadFollow(source?: ModuleSource): Promise<void>;
