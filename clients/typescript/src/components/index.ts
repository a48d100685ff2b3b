/**
 * Components for chats and runs, made with Preact. `mountChat` puts a whole chat into any page,
 * whatever that page is made with. `chat.css` has the styles.
 */

export { ChatView, TurnView, useChat } from "./chat.js";
export { Markdown } from "./markdown.js";
export { type MountedChat, type MountOptions, mountChat } from "./mount.js";
export { QuestionForm, Questions } from "./question.js";
export { Sign, TaskList, ToolCard } from "./tool.js";
export { type ChatWords, en, zh } from "./words.js";
