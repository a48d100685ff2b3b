/**
 * A conversation with a model or an agent behind a Foxwedge gateway, without any user interface.
 * What happened to a tool call comes from the run machine only, never from the text of a reply.
 */

export { Chat, type ChatOptions, type SavedChat } from "./chat.js";
export type { ChatFetch, ChatReply, ChatRequest } from "./request.js";
export { ChatError, type ChatQuestion, type Decision } from "./request.js";
export type { ChatConnection, ChatItem, ChatTurn, SavedTurn } from "./turn.js";
