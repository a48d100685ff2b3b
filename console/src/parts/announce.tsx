/**
 * Announcements for screen readers: status changes of tool calls and the end of a run, each once.
 * Text deltas are not announced. Many changes at once are announced as a count.
 */

import { signal } from "@preact/signals";

import type { Announcement } from "../data/notes.js";
import { labelOf, t } from "../words.js";

interface Entry {
  readonly id: number;
  readonly text: string;
}

/** How long announcements are collected before they are made. */
const DELAY_MS = 400;
const MAX_ENTRIES = 12;
const MAX_AT_ONCE = 4;

const entries = signal<readonly Entry[]>([]);
const ending = signal("");
let pending: string[] = [];
let endings: (() => void)[] = [];
let timer: ReturnType<typeof setTimeout> | undefined;
let next = 1;

/** Announces a change of a run. */
export function announce({ change, tool = "" }: Announcement): void {
  switch (change.type) {
    case "runEnded":
      endings.push(() => {
        const how = labelOf("outcome", change.ended.outcome ?? "unknown");
        ending.value = t("announce.end", { how });
      });
      break;
    case "toolStatus":
    case "toolSettled":
      pending.push(t("announce.tool", { tool, status: labelOf("status", change.status) }));
      break;
    case "asked":
      pending.push(t("announce.asked", { tool }));
      break;
    default:
      return;
  }
  timer ??= setTimeout(flush, DELAY_MS);
}

/** Announces a text once. */
export function announceText(text: string): void {
  pending.push(text);
  timer ??= setTimeout(flush, DELAY_MS);
}

/** Removes all announcements, for when the user leaves the page. */
export function clearAnnouncements(): void {
  pending = [];
  endings = [];
  entries.value = [];
  ending.value = "";
}

function flush(): void {
  timer = undefined;
  const isTooMuch = pending.length > MAX_AT_ONCE;
  const texts = isTooMuch ? [t("announce.many", { n: pending.length })] : pending;
  pending = [];
  const added = texts.map((text) => ({ id: next++, text }));
  entries.value = [...entries.peek(), ...added].slice(-MAX_ENTRIES);
  for (const announceEnd of endings) announceEnd();
  endings = [];
}

/** The live regions for screen readers. */
export function Announcer() {
  return (
    <div class="unseen">
      <div role="log" aria-live="polite" aria-label={t("announce.log")}>
        {entries.value.map(({ id, text }) => (
          <div key={id}>{text}</div>
        ))}
      </div>
      <div role="status" aria-live="polite">
        {ending.value}
      </div>
    </div>
  );
}
