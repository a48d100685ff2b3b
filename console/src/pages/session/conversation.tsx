/** The conversation as people read it. */

import { signal } from "@preact/signals";
import { useCallback, useMemo } from "preact/hooks";

import { ask, path } from "../../data/ask.js";
import { usePoll } from "../../data/poll.js";
import type { FindingRow, Message, Sliced } from "../../data/types.js";
import { Empty, Trouble } from "../../parts/frame.js";
import { Icon } from "../../parts/icon.js";
import { Long } from "../../parts/long.js";
import { MessageHead, Parts } from "../../parts/message.js";
import { link, place, refine } from "../../route.js";
import { t } from "../../words.js";
import { useSlices } from "./slices.js";

export function Conversation({ id }: { id: string }) {
  const { query } = place.value;
  const words = query.get("q") ?? "";
  const at = words === "" ? Number(query.get("at") ?? 0) || 0 : 0;
  const base = ["console", "sessions", id];
  const slices = useSlices<Message>(
    `${id} ${words}`,
    (from, limit, signal) =>
      ask(path([...base, "messages"], { from, limit, q: words }), { signal }),
    at,
  );
  const { known } = usePoll(
    `findings ${id}`,
    (signal) => ask<Sliced<FindingRow>>(path([...base, "findings"], { limit: 500 }), { signal }),
    0,
  );
  const active = useMemo(() => signal(at), [at, words]);
  const seen = useCallback((from: number, to: number) => slices.want(from, to), [slices]);
  void slices.changes.value;
  const total = slices.total.value;
  const findings = known.value.value?.data ?? [];
  return (
    <>
      <div class="bar">
        <label class="search">
          <Icon name="search" />
          <input
            class="field"
            type="search"
            placeholder={t("session.search")}
            aria-label={t("session.search")}
            value={words}
            onChange={(event) => refine({ q: event.currentTarget.value, at: "" })}
          />
        </label>
        {findings.length > 0 && <Jumps findings={findings} id={id} />}
      </div>
      {slices.error.value !== undefined && <Trouble error={slices.error.value} />}
      {total === 0 && (
        <Empty icon="sessions" title={words === "" ? t("session.empty") : t("nothing.fits")} />
      )}
      {total !== undefined && total > 0 && (
        <section class="panel fill">
          <Long
            key={`${words} ${at}`}
            label={t("session.talk")}
            count={total}
            height={7}
            measured
            active={active}
            onSeen={seen}
            row={(index) => {
              const message = slices.row(index);
              const stop = index === active.value;
              if (message === undefined)
                return (
                  <div class="message coming" data-stop tabIndex={stop ? 0 : -1}>
                    …
                  </div>
                );
              return (
                <MessageRow
                  message={message}
                  findings={findings}
                  stop={stop}
                  marked={message.index === at && at > 0}
                />
              );
            }}
          />
        </section>
      )}
    </>
  );
}

/** From one finding to the next. */
function Jumps({ findings, id }: { findings: readonly FindingRow[]; id: string }) {
  const placed = findings.filter(({ at }) => at !== null);
  const here = Number(place.value.query.get("at") ?? -1);
  const next = placed.find(({ at }) => (at ?? 0) > here) ?? placed[0];
  if (next === undefined) return null;
  return (
    <a class="button" href={link(["sessions", id], { at: String(next.at ?? 0) })}>
      <Icon name="warn" />
      {t("session.next", { rule: next.code })}
    </a>
  );
}

function MessageRow(props: {
  message: Message;
  findings: readonly FindingRow[];
  stop: boolean;
  marked: boolean;
}) {
  const { message, findings, stop, marked } = props;
  const tabIndex = stop ? 0 : -1;
  if (message.folded === true) {
    return (
      <div class="message folded" data-stop tabIndex={tabIndex}>
        <span class="muted num">#{message.index}</span>
        <span class="muted">{t("message.folded")}</span>
      </div>
    );
  }
  return (
    <>
      {message.boundary === true && (
        <div class="boundary">
          <Icon name="fold" />
          {t("message.boundary")}
        </div>
      )}
      <article
        class={`message role-${message.role} ${marked ? "marked" : ""}`}
        data-stop
        tabIndex={tabIndex}
        data-message={message.index}
      >
        <MessageHead message={message} />
        {(message.findings ?? []).map((at) => {
          const finding = findings[at];
          return finding && <Wrong key={at} finding={finding} />;
        })}
        <Parts parts={message.parts} />
      </article>
    </>
  );
}

export function Wrong({ finding }: { finding: FindingRow }) {
  return (
    <div class={`note ${finding.severity === "error" ? "tone-bad" : "tone-warn"}`}>
      <Icon name="warn" />
      <div>
        <a class="rule" href={link(["rules", finding.code])}>
          {finding.code}
        </a>{" "}
        <b>{finding.name}</b> {finding.message}
      </div>
    </div>
  );
}
