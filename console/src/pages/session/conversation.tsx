/** The conversation in readable form. */

import { signal } from "@preact/signals";
import { useCallback, useMemo } from "preact/hooks";

import { fetchJson, path } from "../../data/ask.js";
import { usePoll } from "../../data/poll.js";
import type { FindingRow, Message, Sliced } from "../../data/types.js";
import { Empty, ErrorNote } from "../../parts/frame.js";
import { Icon } from "../../parts/icon.js";
import { LongList } from "../../parts/long.js";
import { MessageHead, Parts } from "../../parts/message.js";
import { link, route, setQuery } from "../../route.js";
import { t } from "../../words.js";
import { findingText } from "../../words/rules.js";
import { useSlices } from "./slices.js";

export function Conversation({ id }: { id: string }) {
  const { query } = route.value;
  const search = query.get("q") ?? "";
  const at = search === "" ? Number(query.get("at") ?? 0) || 0 : 0;
  const base = ["console", "sessions", id];
  const slices = useSlices<Message>(
    `${id} ${search}`,
    (from, limit, signal) =>
      fetchJson(path([...base, "messages"], { from, limit, q: search }), { signal }),
    at,
  );
  const { known } = usePoll(
    `findings ${id}`,
    (signal) =>
      fetchJson<Sliced<FindingRow>>(path([...base, "findings"], { limit: 500 }), { signal }),
    0,
  );
  const active = useMemo(() => signal(at), [at, search]);
  const seen = useCallback((from: number, to: number) => slices.setVisible(from, to), [slices]);
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
            value={search}
            onChange={(event) => setQuery({ q: event.currentTarget.value, at: "" })}
          />
        </label>
        {findings.length > 0 && <Jumps findings={findings} id={id} />}
      </div>
      {slices.error.value !== undefined && <ErrorNote error={slices.error.value} />}
      {total === 0 && (
        <Empty icon="sessions" title={search === "" ? t("session.empty") : t("filter.none")} />
      )}
      {total !== undefined && total > 0 && (
        <section class="panel fill">
          <LongList
            key={`${search} ${at}`}
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

/** A link to the next finding. */
function Jumps({ findings, id }: { findings: readonly FindingRow[]; id: string }) {
  const placed = findings.filter(({ at }) => at !== null);
  const here = Number(route.value.query.get("at") ?? -1);
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
          return finding && <FindingNote key={at} finding={finding} />;
        })}
        <Parts parts={message.parts} />
      </article>
    </>
  );
}

export function FindingNote({ finding }: { finding: FindingRow }) {
  return (
    <div class={`note ${finding.severity === "error" ? "tone-bad" : "tone-warn"}`}>
      <Icon name="warn" />
      <div>
        <a class="rule" href={link(["rules", finding.code])}>
          {finding.code}
        </a>{" "}
        <b>{finding.name}</b> {findingText(finding)}
      </div>
    </div>
  );
}
