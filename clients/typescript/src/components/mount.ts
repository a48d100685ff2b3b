/** Puts a chat into an element of any page. */

import { h, render } from "preact";

import { Chat, type ChatOptions } from "../chat/chat.js";
import { ChatView } from "./chat.js";
import { type ChatWords, en } from "./words.js";

export interface MountOptions extends ChatOptions {
  readonly model: string;
  readonly words?: ChatWords;
}

export interface MountedChat {
  readonly chat: Chat;
  /** Removes the chat. The run in progress goes on. */
  readonly remove: () => void;
}

export function mountChat(element: Element, options: MountOptions): MountedChat {
  const chat = new Chat(options);
  const { model, words = en } = options;
  render(h(ChatView, { chat, model, words }), element);
  return {
    chat,
    remove: () => {
      chat.close();
      render(null, element);
    },
  };
}
