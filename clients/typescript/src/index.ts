/**
 * The state of agent runs in browsers and editors: one outcome per run and one correct status per
 * tool call, in whatever order events arrive. The same reducer as the server's.
 */

export type {
  Change,
  Effect,
  Part,
  Refusal,
  Resolution,
  ToolRef,
  Unreadable,
  Warning,
} from "./effect.js";
export type * from "./event.js";
export {
  type BodyLike,
  type FollowOptions,
  type Followed,
  type ReplyLike,
  type RequestLike,
  type Signal,
  follow,
} from "./follow.js";
export type { Answer, AnswerError } from "./machine/answer.js";
export type {
  AskTruth,
  RunSnapshot,
  RunTruth,
  Snapshot,
  TaskTruth,
  TextTruth,
  ToolTruth,
  Truth,
} from "./machine/snapshot.js";
export { type Line, type Routed, Session, type SessionOptions, createSession } from "./session.js";
export type { Limits, Settings, SomeSettings } from "./settings.js";
export {
  type Outcome,
  type Reason,
  STATUSES,
  type Status,
  type Summary,
  isFinal,
} from "./status.js";
export { type ClockLike, keepTime } from "./time.js";
export { Json } from "./value.js";
export { type Read, read as readEvent } from "./wire/read.js";
export { write as writeEvent } from "./wire/write.js";
