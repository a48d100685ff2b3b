/** Approval requests and questions of an agent, with a form to answer them. */

import { useEffect, useState } from "preact/hooks";

import type { ChatQuestion, Decision } from "../chat/request.js";
import type { ChatWords } from "./words.js";

/** How often open questions are requested, in milliseconds. */
const POLL_MS = 1_500;

/** The open questions of a run. Show it while a tool call awaits approval. */
export function Questions(props: {
  run: string;
  words: ChatWords;
  load: (run: string) => Promise<readonly ChatQuestion[]>;
  answer: (run: string, question: string, decision: Decision) => Promise<void>;
  errorText: (error: Error) => string;
}) {
  const { run, words, load } = props;
  const [questions, setQuestions] = useState<readonly ChatQuestion[] | undefined>(undefined);
  const [round, setRound] = useState(0);
  useEffect(() => {
    let isOver = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const poll = async () => {
      const next = await load(run).catch(() => undefined);
      if (isOver) return;
      if (next !== undefined) setQuestions(next);
      timer = setTimeout(() => void poll(), POLL_MS);
    };
    void poll();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [run, round]);
  if (questions === undefined) return null;
  if (questions.length === 0) return <p class="fw-note fw-ask">{words.askElsewhere}</p>;
  return (
    <>
      {questions.map((question) => (
        <QuestionForm
          key={question.question}
          question={question}
          words={words}
          errorText={props.errorText}
          decide={async (decision) => {
            await props.answer(run, question.question, decision);
            setRound(round + 1);
          }}
        />
      ))}
    </>
  );
}

export function QuestionForm(props: {
  question: ChatQuestion;
  words: ChatWords;
  decide: (decision: Decision) => Promise<void>;
  errorText: (error: Error) => string;
}) {
  const { question, words } = props;
  const [chosen, setChosen] = useState<Readonly<Record<string, readonly string[]>>>({});
  const [message, setMessage] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Error | undefined>(undefined);
  const items = question.kind === "questions" ? itemsOf(question.input) : [];
  const answers = Object.fromEntries(
    items.map(({ text }) => [text, (chosen[text] ?? []).join(", ")]),
  );
  const isComplete = items.every(({ text }) => (answers[text] ?? "") !== "");
  const decide = async (decision: Decision) => {
    setBusy(true);
    try {
      await props.decide(decision);
      setError(undefined);
    } catch (cause) {
      setError(cause as Error);
    }
    setBusy(false);
  };
  return (
    <section class="fw-question" aria-label={words.askTitle}>
      <b class="fw-ask">
        {question.kind === "permission" ? words.askMay(question.tool) : words.askTitle}
      </b>
      {question.kind === "permission" && <pre>{JSON.stringify(question.input, undefined, 2)}</pre>}
      {items.map((item) => (
        <fieldset key={item.text}>
          <legend>{item.text}</legend>
          {item.options.map(({ label, description }) => (
            <label key={label}>
              <input
                type={item.multiple ? "checkbox" : "radio"}
                name={item.text}
                checked={(chosen[item.text] ?? []).includes(label)}
                onChange={(event) => {
                  const before = item.multiple ? (chosen[item.text] ?? []) : [];
                  const rest = before.filter((other) => other !== label);
                  const next = event.currentTarget.checked ? [...rest, label] : rest;
                  setChosen({ ...chosen, [item.text]: next });
                }}
              />
              <span>
                {label} <span class="fw-muted">{description}</span>
              </span>
            </label>
          ))}
          <input
            class="fw-field"
            aria-label={words.ownAnswer}
            placeholder={words.ownAnswer}
            onInput={(event) => {
              const text = event.currentTarget.value;
              setChosen({ ...chosen, [item.text]: text === "" ? [] : [text] });
            }}
          />
        </fieldset>
      ))}
      <div class="fw-bar">
        <button
          type="button"
          class="fw-button fw-main"
          disabled={isBusy || !isComplete}
          onClick={() =>
            void decide(question.kind === "questions" ? { answers } : { decision: "allow" })
          }
        >
          {question.kind === "questions" ? words.answer : words.allow}
        </button>
        <button
          type="button"
          class="fw-button"
          disabled={isBusy}
          onClick={() =>
            void decide({ decision: "deny", ...(message === "" ? {} : { message }) })
          }
        >
          {words.deny}
        </button>
        <input
          class="fw-field"
          aria-label={words.denyReason}
          placeholder={words.denyReason}
          value={message}
          onInput={(event) => setMessage(event.currentTarget.value)}
        />
      </div>
      {error !== undefined && (
        <p class="fw-note fw-bad" role="status">
          {props.errorText(error)}
        </p>
      )}
    </section>
  );
}

interface QuestionItem {
  readonly text: string;
  readonly multiple: boolean;
  readonly options: readonly { readonly label: string; readonly description: string }[];
}

/** The questions in the input of an agent's question tool. Other inputs have none. */
function itemsOf(input: unknown): readonly QuestionItem[] {
  const list = (input as { questions?: unknown } | null)?.questions;
  if (!Array.isArray(list)) return [];
  return (list as unknown[]).flatMap((value) => {
    const { question, options, multiSelect } = (value ?? {}) as Record<string, unknown>;
    if (typeof question !== "string") return [];
    const choices = Array.isArray(options) ? (options as unknown[]) : [];
    return [{ text: question, multiple: multiSelect === true, options: choices.map(optionOf) }];
  });
}

function optionOf(option: unknown): { label: string; description: string } {
  if (typeof option === "string") return { label: option, description: "" };
  const { label, description } = (option ?? {}) as Record<string, unknown>;
  return {
    label: typeof label === "string" ? label : JSON.stringify(option),
    description: typeof description === "string" ? description : "",
  };
}
