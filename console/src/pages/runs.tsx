/** All runs, newest first, with their state and open tool calls. */

import { useSignal } from "@preact/signals";

import { fetchJson, path } from "../data/ask.js";
import { now } from "../data/clock.js";
import { usePoll } from "../data/poll.js";
import type { Counts, Paged, RunRow } from "../data/types.js";
import { RunBadge, StatusBadge } from "../parts/badge.js";
import { Empty, Loaded, Page } from "../parts/frame.js";
import { Icon } from "../parts/icon.js";
import { LongList } from "../parts/long.js";
import { link, route, setQuery } from "../route.js";
import { STATUSES, type Status, isFinal } from "../run.js";
import { ago, count, moment, span, t } from "../words.js";

/** How many open runs are requested one by one if the list lacks their tool calls. */
const MAX_DETAIL_REQUESTS = 8;

export function RunsPage() {
  const { known } = usePoll("runs", loadRuns, 2_000);
  const active = useSignal(0);
  const { query } = route.value;
  const state = query.get("state") ?? "";
  const search = (query.get("q") ?? "").toLowerCase();
  return (
    <Page
      title={t("nav.runs")}
      sub={
        known.value.value === undefined
          ? undefined
          : t("runs.open", { n: countOpen(known.value.value) })
      }
    >
      <div class="bar">
        <label class="search">
          <Icon name="search" />
          <input
            class="field"
            type="search"
            placeholder={t("runs.search")}
            aria-label={t("runs.search")}
            value={query.get("q") ?? ""}
            onInput={(event) => setQuery({ q: event.currentTarget.value })}
          />
        </label>
        <div class="chips" role="group" aria-label={t("filter")}>
          {(["", "open", "ended"] as const).map((one) => (
            <button
              key={one}
              type="button"
              class="chip"
              aria-pressed={state === one}
              onClick={() => setQuery({ state: one })}
            >
              {one === "" ? t("all") : one === "open" ? t("runs.only.open") : t("runs.only.ended")}
            </button>
          ))}
        </div>
      </div>
      <Loaded known={known.value}>
        {(rows) => {
          const shown = rows.filter((row) => matches(row, state, search));
          if (shown.length === 0) {
            return (
              <Empty icon="runs" title={rows.length === 0 ? t("runs.none") : t("filter.none")}>
                {rows.length === 0 && t("runs.none.how")}
              </Empty>
            );
          }
          return (
            <section class="panel fill">
              <div class="row-head runs-grid" aria-hidden="true">
                <span>{t("runs.state")}</span>
                <span>{t("runs.run")}</span>
                <span>{t("runs.calls")}</span>
                <span class="right">{t("runs.tokens")}</span>
                <span class="right">{t("runs.took")}</span>
                <span class="right">{t("runs.began")}</span>
              </div>
              <LongList
                label={t("nav.runs")}
                count={shown.length}
                height={2.75}
                active={active}
                row={(index) => {
                  const row = shown[index];
                  return row && <RunLine row={row} stop={index === active.value} />;
                }}
              />
            </section>
          );
        }}
      </Loaded>
    </Page>
  );
}

function RunLine({ row, stop }: { row: RunRow; stop: boolean }) {
  const isOpen = row.state === "open";
  const until = row.ended ?? now.value;
  return (
    <a class="row runs-grid tall" href={link(["runs", row.id])} data-stop tabIndex={stop ? 0 : -1}>
      <RunBadge phase={isOpen ? "running" : "ended"} outcome={row.outcome ?? undefined} />
      <span class="cut two">
        <span class="cut">
          {[row.agent, row.model].filter(Boolean).join(" · ") || t("runs.gateway")}
        </span>
        <span class="cut muted mono" title={row.id}>
          {row.id}
        </span>
      </span>
      <CallCounts counts={row.calls?.by_status} total={row.calls?.total} />
      <span class="right num soft">{tokens(row.usage)}</span>
      <span class="right num soft">{span(until - row.started)}</span>
      <span class="right num soft" title={moment(row.started)}>
        {ago(row.started, now.value)}
      </span>
    </a>
  );
}

/** Tool calls by status, with the number of open ones first. */
export function CallCounts(props: { counts: Counts | undefined; total?: number | undefined }) {
  const { counts, total } = props;
  if (counts === undefined) return <span class="muted">–</span>;
  if (total === 0) return <span class="muted">{t("runs.nocalls")}</span>;
  const known = STATUSES.filter((status) => (counts[status] ?? 0) > 0);
  const open = openCalls(counts);
  return (
    <span class="bar tight">
      {open > 0 && (
        <span class="count live" data-open={open}>
          {t("runs.opencalls", { n: open })}
        </span>
      )}
      {known.map((status) => (
        <span key={status} class="counted">
          <b class="num">{count(counts[status] ?? 0)}</b>
          <StatusBadge status={status} plain frozen />
        </span>
      ))}
    </span>
  );
}

function tokens(usage: Counts | null): string {
  if (usage === null || (usage.input ?? 0) + (usage.output ?? 0) === 0) return "–";
  return `${count(usage.input ?? 0)} → ${count(usage.output ?? 0)}`;
}

function matches(row: RunRow, state: string, search: string): boolean {
  if (state !== "" && row.state !== state) return false;
  const all = [row.id, row.session, row.agent, row.model, row.outcome, row.text].join(" ");
  return search === "" || all.toLowerCase().includes(search);
}

function countOpen(rows: readonly RunRow[]): number {
  return rows.filter(({ state }) => state === "open").length;
}

/** The number of open tool calls. */
export function openCalls(counts: Counts): number {
  const open = STATUSES.filter((status: Status) => !isFinal(status));
  return open.reduce((sum, status) => sum + (counts[status] ?? 0), 0);
}

/** The newest runs, open ones with the state of their tool calls. */
export async function loadRuns(signal: AbortSignal): Promise<readonly RunRow[]> {
  const { data } = await fetchJson<Paged<RunRow>>(path(["runs"], { limit: 500 }), { signal });
  const withoutCounts = data.filter((row) => row.state === "open" && row.calls === null);
  const details = await Promise.all(
    withoutCounts
      .slice(0, MAX_DETAIL_REQUESTS)
      .map(({ id }) => fetchJson<RunRow>(path(["runs", id]), { signal }).catch(() => undefined)),
  );
  const byId = new Map(
    details.flatMap((row) => (row === undefined ? [] : [[row.id, row] as const])),
  );
  return data.map((row) => ({ ...row, calls: row.calls ?? byId.get(row.id)?.calls ?? null }));
}
