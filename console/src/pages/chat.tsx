/** A conversation with any configured model or live agent. */

import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { Chat, ChatView, type SavedChat, en, useChat, zh } from "../chat.js";
import { markUp } from "../data/ask.js";
import { usePoll } from "../data/poll.js";
import { headers, markRejected } from "../data/token.js";
import { Empty, Page } from "../parts/frame.js";
import { Icon } from "../parts/icon.js";
import { link } from "../route.js";
import { language } from "../settings.js";
import { refusals, t } from "../words.js";

const NAME = "foxwedge.chat";
const MODEL = "foxwedge.model";
/** How long changes are collected before they are stored. */
const STORE_MS = 300;

/** The chat of this tab. It goes on while other pages are shown. */
const current = signal<Chat | undefined>(undefined);
const model = signal(stored(MODEL) ?? "");

export function ChatPage() {
  useEffect(() => {
    current.value ??= start(savedChat());
  }, []);
  const chat = current.value;
  return chat === undefined ? null : <Talk key={chat.session} chat={chat} />;
}

function Talk({ chat }: { chat: Chat }) {
  const { known } = usePoll("models", () => chat.models(), 0);
  const models = known.value.value ?? [];
  const field = useRef<HTMLInputElement>(null);
  // Not under the hands of a person who is about to type a name.
  const preselect = () => {
    const isTyping = document.activeElement === field.current;
    if (model.peek() === "" && !isTyping && models[0] !== undefined) model.value = models[0];
  };
  useEffect(preselect, [models]);
  const turns = useChat(chat);
  const last = turns.at(-1);
  const words = language.value === "zh" ? zh : en;
  const shownWords = { ...words, errors: { ...refusals(), ...words.errors } };
  return (
    <Page
      title={t("nav.chat")}
      actions={
        <>
          {last?.run !== undefined && (
            <a class="button" href={link(["runs", last.run])}>
              <Icon name="runs" />
              {t("chat.run")}
            </a>
          )}
          <button
            type="button"
            class="button"
            disabled={turns.length === 0}
            onClick={() => {
              chat.close();
              current.value = start(undefined);
            }}
          >
            <Icon name="plus" />
            {t("chat.new")}
          </button>
        </>
      }
    >
      <div class="chat-page">
        <label class="bar">
          <span class="soft">{t("chat.model")}</span>
          <input
            ref={field}
            class="field model"
            list="models"
            onBlur={preselect}
            placeholder={t("chat.model.hint")}
            value={model.value}
            onInput={(event) => {
              model.value = event.currentTarget.value.trim();
              store(MODEL, model.value);
            }}
          />
          <datalist id="models">
            {models.map((name) => (
              <option key={name} value={name} />
            ))}
          </datalist>
        </label>
        {turns.length === 0 && (
          <Empty icon="chat" title={t("chat.empty")}>
            {t("chat.empty.how")}
          </Empty>
        )}
        <ChatView chat={chat} model={model.value} words={shownWords} />
      </div>
    </Page>
  );
}

/** Starts a chat, or continues a saved one, and keeps it in the tab. */
function start(saved: SavedChat | undefined): Chat {
  const chat = new Chat({
    headers,
    saved,
    fetch: async (url, init) => {
      const reply = await fetch(url, { ...init, credentials: "omit", cache: "no-store" });
      markUp();
      if (reply.status === 401) markRejected();
      return reply;
    },
  });
  let timer: ReturnType<typeof setTimeout> | undefined;
  const save = () => {
    timer = undefined;
    store(NAME, JSON.stringify(chat.save()));
  };
  const stop = chat.subscribe(() => {
    if (current.peek() !== chat) stop();
    else timer ??= setTimeout(save, STORE_MS);
  });
  if (saved === undefined) store(NAME, "");
  addEventListener("pagehide", () => {
    if (current.peek() === chat) save();
  });
  return chat;
}

function savedChat(): SavedChat | undefined {
  try {
    const text = stored(NAME) ?? "";
    return text === "" ? undefined : (JSON.parse(text) as SavedChat);
  } catch {
    return undefined;
  }
}

function stored(name: string): string | null {
  try {
    return sessionStorage.getItem(name);
  } catch {
    return null;
  }
}

function store(name: string, value: string): void {
  try {
    sessionStorage.setItem(name, value);
  } catch {
    // Without storage, the chat lasts until the page is closed.
  }
}
