/** The questions of an agent's run. */

import { Questions as QuestionList, en, zh } from "../../chat.js";
import { fetchJson, path } from "../../data/ask.js";
import type { Question } from "../../data/types.js";
import { errorText } from "../../parts/frame.js";
import { language } from "../../settings.js";

export function Questions({ run }: { run: string }) {
  const address = path(["runs", run, "answers"]);
  return (
    <QuestionList
      run={run}
      words={language.value === "zh" ? zh : en}
      errorText={errorText}
      load={async () =>
        (await fetchJson<{ questions: readonly Question[] }>(address)).questions
      }
      answer={(_, question, decision) =>
        fetchJson(address, { method: "POST", body: { question, ...decision } })
      }
    />
  );
}
