/** Approval requests and questions of an agent, with a form to answer them. */

import { useSignal } from "@preact/signals";

import { fetchJson, path } from "../../data/ask.js";
import { usePoll } from "../../data/poll.js";
import type { Question } from "../../data/types.js";
import { errorText } from "../../parts/frame.js";
import { Icon } from "../../parts/icon.js";
import { JsonTree } from "../../parts/text.js";
import { t } from "../../words.js";

export function Questions({ run }: { run: string }) {
  const { known, refresh } = usePoll(
    `questions ${run}`,
    (signal) =>
      fetchJson<{ questions: readonly Question[] }>(path(["runs", run, "answers"]), { signal }),
    1_500,
  );
  const questions = known.value.value?.questions ?? [];
  if (questions.length === 0) {
    return (
      <p class="note tone-ask">
        <Icon name="ask" />
        {t("ask.elsewhere")}
      </p>
    );
  }
  return (
    <>
      {questions.map((question) => (
        <QuestionForm key={question.question} run={run} question={question} done={refresh} />
      ))}
    </>
  );
}

function QuestionForm(props: { run: string; question: Question; done: () => void }) {
  const { run, question, done } = props;
  const error = useSignal<Error | undefined>(undefined);
  const busy = useSignal(false);
  const message = useSignal("");
  const chosen = useSignal<Readonly<Record<string, readonly string[]>>>({});
  const items = question.kind === "questions" ? questionItems(question.input) : [];
  const decide = async (body: Record<string, unknown>) => {
    busy.value = true;
    try {
      await fetchJson(path(["runs", run, "answers"]), {
        method: "POST",
        body: { question: question.question, ...body },
      });
      error.value = undefined;
    } catch (cause) {
      error.value = cause as Error;
    }
    busy.value = false;
    done();
  };
  const answers = Object.fromEntries(
    items.map(({ question }) => [question, (chosen.value[question] ?? []).join(", ")]),
  );
  const isComplete = items.every(({ question }) => (answers[question] ?? "") !== "");
  return (
    <section class="panel question" aria-label={t("ask.title")}>
      <header class="tone-ask">
        <Icon name="ask" />
        <h2>
          {question.kind === "permission" ? t("ask.may", { tool: question.tool }) : t("ask.title")}
        </h2>
      </header>
      <div class="inside stack">
        {question.kind === "permission" && <JsonTree value={question.input} />}
        {items.map((item) => (
          <fieldset key={item.question}>
            <legend>{item.question}</legend>
            {item.options.map(({ label, description }) => (
              <label key={label} class="choice">
                <input
                  type={item.multiple ? "checkbox" : "radio"}
                  name={item.question}
                  checked={(chosen.value[item.question] ?? []).includes(label)}
                  onChange={(event) => {
                    const selected = item.multiple ? (chosen.value[item.question] ?? []) : [];
                    const rest = selected.filter((other) => other !== label);
                    const next = event.currentTarget.checked ? [...rest, label] : rest;
                    chosen.value = { ...chosen.value, [item.question]: next };
                  }}
                />
                <span>
                  {label}
                  {description !== "" && <span class="muted"> {description}</span>}
                </span>
              </label>
            ))}
            <input
              class="field"
              aria-label={t("ask.own")}
              placeholder={t("ask.own")}
              onInput={(event) => {
                const text = event.currentTarget.value;
                chosen.value = { ...chosen.value, [item.question]: text === "" ? [] : [text] };
              }}
            />
          </fieldset>
        ))}
        <div class="bar">
          <button
            type="button"
            class="button main-one"
            disabled={busy.value || !isComplete}
            onClick={() =>
              void decide(question.kind === "questions" ? { answers } : { decision: "allow" })
            }
          >
            <Icon name="check" />
            {question.kind === "questions" ? t("ask.answer") : t("ask.allow")}
          </button>
          <button
            type="button"
            class="button danger"
            disabled={busy.value}
            onClick={() =>
              void decide({
                decision: "deny",
                ...(message.value === "" ? {} : { message: message.value }),
              })
            }
          >
            <Icon name="cross" />
            {t("ask.deny")}
          </button>
          <input
            class="field"
            aria-label={t("ask.why")}
            placeholder={t("ask.why")}
            value={message.value}
            onInput={(event) => (message.value = event.currentTarget.value)}
          />
        </div>
        {error.value !== undefined && (
          <p class="note tone-bad" role="status">
            {errorText(error.value)}
          </p>
        )}
      </div>
    </section>
  );
}

interface QuestionItem {
  readonly question: string;
  readonly multiple: boolean;
  readonly options: readonly { readonly label: string; readonly description: string }[];
}

/** The questions in the input of an agent's question tool. Other inputs have none. */
function questionItems(input: unknown): readonly QuestionItem[] {
  const list = (input as { questions?: unknown } | null)?.questions;
  if (!Array.isArray(list)) return [];
  return (list as unknown[]).flatMap((value) => {
    const { question, options, multiSelect } = (value ?? {}) as Record<string, unknown>;
    if (typeof question !== "string") return [];
    const choices = Array.isArray(options) ? (options as unknown[]) : [];
    return [{ question, multiple: multiSelect === true, options: choices.map(choice) }];
  });
}

function choice(option: unknown): { label: string; description: string } {
  if (typeof option === "string") return { label: option, description: "" };
  const { label, description } = (option ?? {}) as Record<string, unknown>;
  return {
    label: typeof label === "string" ? label : JSON.stringify(option),
    description: typeof description === "string" ? description : "",
  };
}
