/** The first page: what needs a person now, one click from its repair, and what to do otherwise. */

import type { ComponentChildren } from "preact";

import { fetchJson, path } from "../data/ask.js";
import { now } from "../data/clock.js";
import { isRepairable, sortRows } from "../data/order.js";
import { type PollState, usePoll } from "../data/poll.js";
import type { FeedRow, Paged, RunRow, SessionList } from "../data/types.js";
import { Findings, HealthBadge, StatusBadge } from "../parts/badge.js";
import { Loaded, Page, shortId } from "../parts/frame.js";
import { Icon, type IconName } from "../parts/icon.js";
import { link } from "../route.js";
import { ago, labelOf, plural, t } from "../words.js";
import { Action, reasonText } from "./request.js";
import { loadRuns } from "./runs.js";

/** How many items of each kind are listed. */
const LISTED = 6;
/** Requests that failed longer ago are not news. */
const RECENT_MS = 24 * 3_600_000;

interface Attention {
  readonly sessions: SessionList;
  readonly requests: readonly FeedRow[];
  readonly runs: readonly RunRow[];
}

async function load(signal: AbortSignal): Promise<Attention> {
  const sessions = path(["console", "sessions"], {
    health: "needs-repair,history-missing",
    source: "file",
    limit: 500,
  });
  // Also those that were repaired, and refused all the same.
  const feed = (status: string) =>
    fetchJson<Paged<FeedRow>>(path(["console", "feed"], { status, limit: 50 }), { signal });
  const [list, refused, failed, runs] = await Promise.all([
    fetchJson<SessionList>(sessions, { signal }),
    feed("4xx"),
    feed("5xx"),
    loadRuns(signal),
  ]);
  const requests = [...refused.data, ...failed.data]
    .filter(({ at }) => Date.now() - at < RECENT_MS)
    .sort((one, other) => other.at - one.at);
  return { sessions: list, requests, runs: runs.filter(isWaiting) };
}

/** Whether a run waits for a person. */
function isWaiting({ state, calls }: RunRow): boolean {
  return state === "open" && (calls?.by_status.awaiting_approval ?? 0) > 0;
}

export function StartPage() {
  const { known } = usePoll("start", load, 3_000);
  return (
    <Page title={t("nav.start")} sub={<Headline known={known.value} />}>
      <Loaded known={known.value}>
        {(attention) => (
          <>
            <div class="attention">
              <Runs rows={attention.runs} />
              <Sessions list={attention.sessions} />
              <Requests rows={attention.requests} />
            </div>
            <Next />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Headline({ known }: { known: PollState<Attention> }) {
  const { value } = known;
  if (value === undefined) return null;
  const scan = value.sessions.scan;
  const total = value.sessions.data.length + value.requests.length + value.runs.length;
  return (
    <span role="status" data-attention={total}>
      {total === 0 ? t("start.calm") : plural("start.needs.one", "start.needs", total)}
      {scan?.state === "running" &&
        ` · ${t("sessions.scan", { n: scan.looked, total: scan.total })}`}
    </span>
  );
}

function Sessions({ list }: { list: SessionList }) {
  const rows = sortRows(list.data, undefined);
  const ids = rows.filter(isRepairable).map(({ id }) => id);
  return (
    <Block
      icon="sessions"
      title={t("start.sessions")}
      count={rows.length}
      empty={list.files.enabled ? t("start.sessions.none") : filesText(list)}
      all={link(["sessions"], { health: "needs-repair" })}
      action={
        ids.length > 1 ? (
          <a class="button main-one" href={link(["repair"], { ids: ids.join(",") })}>
            <Icon name="wrench" />
            {t("start.repair.all", { n: ids.length })}
          </a>
        ) : undefined
      }
    >
      {rows.slice(0, LISTED).map((row) => (
        <li key={row.id}>
          <div class="card-head">
            <HealthBadge health={row.health} />
            <a class="cut" href={link(["sessions", row.id])}>
              {row.title ?? row.session}
            </a>
            <span class="end">
              {isRepairable(row) && (
                <a class="button small" href={link(["sessions", row.id, "repair"])}>
                  <Icon name="wrench" />
                  {t("repair.open")}
                </a>
              )}
            </span>
          </div>
          <div class="card-foot muted">
            <span class="cut">{[row.product ?? row.agent, row.project].filter(Boolean).join(" · ")}</span>
            <Findings counts={row.findings} />
            <span class="num">{ago(row.touched, now.value)}</span>
          </div>
        </li>
      ))}
    </Block>
  );
}

function filesText(list: SessionList): string {
  return labelOf("refused", list.files.why ?? "files_off");
}

function Requests({ rows }: { rows: readonly FeedRow[] }) {
  return (
    <Block
      icon="feed"
      title={t("start.requests")}
      count={rows.length}
      empty={t("start.requests.none")}
      all={link(["feed"], { status: "4xx" })}
    >
      {rows.slice(0, LISTED).map((row) => (
        <li key={row.id}>
          <div class="card-head">
            <Action row={row} />
            <span class="cut">{row.model ?? t("feed.nomodel")}</span>
            <span class="end">
              <a class="button small" href={link(["feed", row.id])}>
                {t("start.look")}
              </a>
            </span>
          </div>
          <div class="card-foot muted">
            <span class="cut">{row.error === null ? "" : reasonText(row.error)}</span>
            <Findings counts={row.findings} />
            <span class="num">{ago(row.at, now.value)}</span>
          </div>
        </li>
      ))}
    </Block>
  );
}

function Runs({ rows }: { rows: readonly RunRow[] }) {
  return (
    <Block
      icon="runs"
      title={t("start.runs")}
      count={rows.length}
      empty={t("start.runs.none")}
      all={link(["runs"], { state: "open" })}
    >
      {rows.slice(0, LISTED).map((row) => (
        <li key={row.id}>
          <div class="card-head">
            <StatusBadge status="awaiting_approval" frozen />
            <span class="cut">
              {[row.agent, row.model].filter(Boolean).join(" · ") || shortId(row.id)}
            </span>
            <span class="end">
              <a class="button small main-one" href={link(["runs", row.id])}>
                {t("start.answer")}
              </a>
            </span>
          </div>
          <div class="card-foot muted">
            <span class="cut mono">{shortId(row.id)}</span>
            <span class="num">{ago(row.started, now.value)}</span>
          </div>
        </li>
      ))}
    </Block>
  );
}

function Block(props: {
  icon: IconName;
  title: string;
  count: number;
  empty: string;
  all: string;
  action?: ComponentChildren;
  children: ComponentChildren;
}) {
  const { icon, title, count, empty, all, action, children } = props;
  return (
    <section class="panel" aria-label={title}>
      <header>
        <Icon name={icon} />
        <h2>{title}</h2>
        <span class={`count ${count > 0 ? "due" : ""}`}>{count}</span>
        <span class="end">{action}</span>
      </header>
      {count === 0 ? (
        <p class="inside calm">
          <Icon name="check" />
          {empty}
        </p>
      ) : (
        <ul class="cards-list">{children}</ul>
      )}
      {count > LISTED && (
        <p class="inside">
          <a href={all}>{t("start.all", { n: count })}</a>
        </p>
      )}
    </section>
  );
}

/** Where to go when nothing needs attention. */
function Next() {
  const all: readonly (readonly [string, IconName, string, string])[] = [
    [link(["chat"]), "chat", t("nav.chat"), t("start.chat")],
    [link(["sessions"]), "sessions", t("nav.sessions"), t("start.browse")],
    [link(["feed"]), "feed", t("nav.feed"), t("start.feed")],
  ];
  return (
    <nav class="next" aria-label={t("start.next")}>
      {all.map(([to, icon, title, about]) => (
        <a key={to} class="panel" href={to}>
          <Icon name={icon} />
          <span>
            <b>{title}</b>
            <span class="muted">{about}</span>
          </span>
        </a>
      ))}
    </nav>
  );
}
