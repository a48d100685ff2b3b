/**
 * What a screen reader says without being asked: that a tool changed its state, that a run ended.
 * Once each, never for a piece of text; and when a lot happens at once, only how much it was.
 */

import { signal } from "@preact/signals";

import type { Told } from "../data/notes.js";
import { maybe, t } from "../words.js";

interface Entry {
  readonly id: number;
  readonly words: string;
}

/** How long is waited for more of the same. */
const PAUSE = 400;
const MOST = 12;
const AT_ONCE = 4;

const entries = signal<readonly Entry[]>([]);
const ending = signal("");
let waiting: string[] = [];
let lasts: (() => void)[] = [];
let timer: ReturnType<typeof setTimeout> | undefined;
let next = 1;

/** Takes what was told of a run. */
export function announce({ change, tool = "" }: Told): void {
  switch (change.type) {
    case "runEnded":
      lasts.push(() => {
        const how = maybe("outcome", change.ended.outcome ?? "unknown");
        ending.value = t("said.end", { how });
      });
      break;
    case "toolStatus":
    case "toolSettled":
      waiting.push(t("said.tool", { tool, status: maybe("status", change.status) }));
      break;
    case "asked":
      waiting.push(t("said.asked", { tool }));
      break;
    default:
      return;
  }
  timer ??= setTimeout(flush, PAUSE);
}

/** Says something once. */
export function mention(words: string): void {
  waiting.push(words);
  timer ??= setTimeout(flush, PAUSE);
}

/** Forgets everything: the reader looks at something else. */
export function hush(): void {
  waiting = [];
  lasts = [];
  entries.value = [];
  ending.value = "";
}

function flush(): void {
  timer = undefined;
  const words = waiting.length > AT_ONCE ? [t("said.many", { n: waiting.length })] : waiting;
  waiting = [];
  const fresh = words.map((words) => ({ id: next++, words }));
  entries.value = [...entries.peek(), ...fresh].slice(-MOST);
  for (const last of lasts) last();
  lasts = [];
}

/** The places that screen readers listen to. */
export function Announcer() {
  return (
    <div class="unseen">
      <div role="log" aria-live="polite" aria-label={t("said.log")}>
        {entries.value.map(({ id, words }) => (
          <div key={id}>{words}</div>
        ))}
      </div>
      <div role="status" aria-live="polite">
        {ending.value}
      </div>
    </div>
  );
}
