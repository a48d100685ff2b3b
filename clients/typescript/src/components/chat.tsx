/** A chat: the turns, and a field for the next message. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import type { Chat } from "../chat/chat.js";
import { ChatError } from "../chat/request.js";
import type { ChatItem, ChatTurn } from "../chat/turn.js";
import type { ToolTruth } from "../machine/snapshot.js";
import { Markdown } from "./markdown.js";
import { Questions } from "./question.js";
import { Sign, TaskList, ToolCard } from "./tool.js";
import type { ChatWords } from "./words.js";

/** The shortest time between two redraws, in milliseconds. */
const REDRAW_MS = 50;

/** Draws again when the chat changes, but not more often than a person can see. */
export function useChat(chat: Chat): readonly ChatTurn[] {
  const [, redraw] = useState(0);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = chat.subscribe(() => {
      timer ??= setTimeout(() => {
        timer = undefined;
        redraw((count) => count + 1);
      }, REDRAW_MS);
    });
    redraw((count) => count + 1);
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [chat]);
  return chat.getTurns();
}

/** The turns and the composer. `model` is used for the next message. */
export function ChatView(props: { chat: Chat; model: string; words: ChatWords }) {
  const { chat, model, words } = props;
  const turns = useChat(chat);
  const end = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  useLayoutEffect(() => {
    const box = end.current;
    if (box !== null && atEnd.current) box.scrollTop = box.scrollHeight;
  });
  return (
    <div class="fw-chat">
      <div
        ref={end}
        class="fw-turns"
        tabIndex={0}
        role="log"
        aria-label={words.prompt}
        onScroll={(event) => {
          const { scrollTop, scrollHeight, clientHeight } = event.currentTarget;
          atEnd.current = scrollTop + clientHeight >= scrollHeight - 40;
        }}
      >
        {turns.map((turn) => (
          <TurnView key={turn.key} chat={chat} turn={turn} model={model} words={words} />
        ))}
      </div>
      <TaskList tasks={chat.tasks()} words={words} />
      <Composer chat={chat} model={model} words={words} />
    </div>
  );
}

/** A prompt and its reply. */
export function TurnView(props: { chat: Chat; turn: ChatTurn; model: string; words: ChatWords }) {
  const { chat, turn, model, words } = props;
  const { snapshot, connection, error } = turn;
  // Without a connection it is unknown whether the run still makes progress.
  const frozen = connection.type !== "connected" || turn.isOver;
  const isWaiting = snapshot?.tools.some(({ status }) => status === "awaiting_approval") === true;
  return (
    <article class="fw-turn" aria-busy={!turn.isOver}>
      <div class="fw-prompt">
        <span class="fw-who">{words.you}</span>
        <p>{turn.prompt}</p>
      </div>
      <div class="fw-reply">
        <span class="fw-who">{turn.model}</span>
        {turn.items.map((item) => (
          <Item key={item.id} item={item} tools={snapshot?.tools ?? []} words={words} frozen={frozen} />
        ))}
        {turn.items.length === 0 && !turn.isOver && <p class="fw-muted">{words.waiting}</p>}
        {connection.type === "lost" && !turn.isOver && (
          <p class="fw-note fw-warn" role="status" data-line="lost">
            {words.lost}
          </p>
        )}
        {isWaiting && turn.run !== undefined && !turn.isOver && (
          <Questions
            run={turn.run}
            words={words}
            load={(run) => chat.questions(run)}
            answer={(run, question, decision) => chat.answer(run, question, decision)}
            errorText={(cause) => errorText(cause, words)}
          />
        )}
        {error !== undefined && (
          <p class="fw-note fw-bad" role="status">
            <b>{words.failed}.</b> {errorText(error, words)}
          </p>
        )}
        {turn.isOver && <End chat={chat} turn={turn} model={model} words={words} />}
      </div>
    </article>
  );
}

/** How a turn ended. A reply that completed needs no word. */
function End(props: { chat: Chat; turn: ChatTurn; model: string; words: ChatWords }) {
  const { chat, turn, model, words } = props;
  const outcome = turn.error === undefined ? (turn.snapshot?.outcome ?? "unknown") : undefined;
  const problem = turn.snapshot?.error?.message;
  const tone = outcome === "completed" ? "ok" : outcome === "stopped" ? "rest" : "bad";
  return (
    <div class="fw-bar fw-end" data-outcome={outcome ?? "none"}>
      {outcome !== undefined && outcome !== "completed" && (
        <Sign tone={tone} sign={outcome === "stopped" ? "■" : "✗"}>
          {words.outcome[outcome]}
        </Sign>
      )}
      {problem !== undefined && <span class="fw-muted">{problem}</span>}
      <button type="button" class="fw-button fw-small" onClick={() => chat.retry(turn.key, model)}>
        ↻ {words.retry}
      </button>
    </div>
  );
}

function Item(props: {
  item: ChatItem;
  tools: readonly ToolTruth[];
  words: ChatWords;
  frozen: boolean;
}) {
  const { item, tools, words, frozen } = props;
  switch (item.type) {
    case "text":
      return <Markdown text={item.text.text} />;
    case "thought":
      return (
        <details class="fw-thought" open={!item.text.complete && !frozen}>
          <summary>{words.thinking}</summary>
          <p class="fw-text">{item.text.text}</p>
        </details>
      );
    case "tool": {
      const nested = tools.filter(({ parent }) => parent === item.tool.call);
      return <ToolCard tool={item.tool} nested={nested} words={words} frozen={frozen} />;
    }
  }
}

/** The field for the next message. Enter sends, Shift-Enter starts a new line. */
function Composer(props: { chat: Chat; model: string; words: ChatWords }) {
  const { chat, model, words } = props;
  const [text, setText] = useState("");
  const [isStopping, setStopping] = useState(false);
  const isBusy = chat.isBusy();
  useEffect(() => {
    if (!isBusy) setStopping(false);
  }, [isBusy]);
  const send = () => {
    if (isBusy || text.trim() === "" || model === "") return;
    chat.send(text, model);
    setText("");
  };
  return (
    <form
      class="fw-composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <textarea
        class="fw-field"
        rows={Math.min(8, text.split("\n").length + 1)}
        aria-label={words.prompt}
        placeholder={words.prompt}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          send();
        }}
      />
      {isBusy ? (
        <button
          type="button"
          class="fw-button"
          disabled={isStopping}
          onClick={() => {
            setStopping(true);
            chat.stop().catch(() => setStopping(false));
          }}
        >
          ■ {isStopping ? words.stopping : words.stop}
        </button>
      ) : (
        <button type="submit" class="fw-button fw-main" disabled={text.trim() === "" || model === ""}>
          {words.send}
        </button>
      )}
    </form>
  );
}

function errorText(error: Error, words: ChatWords): string {
  if (!(error instanceof ChatError)) return error.message;
  const known = words.errors[error.code];
  return known ?? (error.message !== "" ? error.message : `HTTP ${error.status}`);
}
