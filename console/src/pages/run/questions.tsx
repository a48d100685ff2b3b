/** What an agent asks people, answered where it is seen. */

import { useSignal } from "@preact/signals";

import { ask, path } from "../../data/ask.js";
import { usePoll } from "../../data/poll.js";
import type { Question } from "../../data/types.js";
import { wordsFor } from "../../parts/frame.js";
import { Icon } from "../../parts/icon.js";
import { JsonTree } from "../../parts/text.js";
import { t } from "../../words.js";

export function Questions({ run }: { run: string }) {
  const { known, again } = usePoll(
    `questions ${run}`,
    (signal) => ask<{ questions: readonly Question[] }>(path(["runs", run, "answers"]), { signal }),
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
        <One key={question.question} run={run} question={question} done={again} />
      ))}
    </>
  );
}

function One({ run, question, done }: { run: string; question: Question; done: () => void }) {
  const error = useSignal<Error | undefined>(undefined);
  const busy = useSignal(false);
  const message = useSignal("");
  const given = useSignal<Readonly<Record<string, readonly string[]>>>({});
  const asked = question.kind === "questions" ? asks(question.input) : [];
  const decide = async (body: Record<string, unknown>) => {
    busy.value = true;
    try {
      await ask(path(["runs", run, "answers"]), {
        method: "POST",
        body: { question: question.question, ...body },
      });
      error.value = undefined;
    } catch (trouble) {
      error.value = trouble as Error;
    }
    busy.value = false;
    done();
  };
  const answers = Object.fromEntries(
    asked.map(({ question }) => [question, (given.value[question] ?? []).join(", ")]),
  );
  const isComplete = asked.every(({ question }) => (answers[question] ?? "") !== "");
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
        {asked.map((one) => (
          <fieldset key={one.question}>
            <legend>{one.question}</legend>
            {one.options.map(({ label, description }) => (
              <label key={label} class="choice">
                <input
                  type={one.several ? "checkbox" : "radio"}
                  name={one.question}
                  checked={(given.value[one.question] ?? []).includes(label)}
                  onChange={(event) => {
                    const before = one.several ? (given.value[one.question] ?? []) : [];
                    const rest = before.filter((word) => word !== label);
                    const next = event.currentTarget.checked ? [...rest, label] : rest;
                    given.value = { ...given.value, [one.question]: next };
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
                given.value = { ...given.value, [one.question]: text === "" ? [] : [text] };
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
            {wordsFor(error.value)}
          </p>
        )}
      </div>
    </section>
  );
}

interface Asked {
  readonly question: string;
  readonly several: boolean;
  readonly options: readonly { readonly label: string; readonly description: string }[];
}

/** The questions in the form in which agents ask them. What is in another form is left out. */
function asks(input: unknown): readonly Asked[] {
  const list = (input as { questions?: unknown } | null)?.questions;
  if (!Array.isArray(list)) return [];
  return (list as unknown[]).flatMap((item) => {
    const { question, options, multiSelect } = (item ?? {}) as Record<string, unknown>;
    if (typeof question !== "string") return [];
    const choices = Array.isArray(options) ? (options as unknown[]) : [];
    return [{ question, several: multiSelect === true, options: choices.map(choice) }];
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
