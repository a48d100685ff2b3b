/** A session of the gateway: its health, its requests with their repairs, and its runs. */

import { fetchJson, path } from "../data/ask.js";
import { now } from "../data/clock.js";
import { usePoll } from "../data/poll.js";
import type { FeedRow, Paged, RunRow, SessionList, SessionRow } from "../data/types.js";
import { Findings, HealthBadge, RunBadge } from "../parts/badge.js";
import { Crumbs, Empty, Loaded, Page, shortId } from "../parts/frame.js";
import { Icon } from "../parts/icon.js";
import { link } from "../route.js";
import { ago, clock, moment, span, t } from "../words.js";
import { Action } from "./request.js";
import { CallCounts } from "./runs.js";

interface GatewaySession {
  readonly title: string | null;
  readonly runs: readonly RunRow[];
  readonly row: SessionRow | undefined;
  readonly requests: readonly FeedRow[];
}

async function load(id: string, signal: AbortSignal): Promise<GatewaySession> {
  const [runs, rows, requests] = await Promise.all([
    fetchJson<Paged<RunRow> & { session: { title: string | null } }>(
      path(["sessions", id], { limit: 500 }),
      { signal },
    ),
    fetchJson<SessionList>(path(["console", "sessions"], { source: "gateway", q: id, limit: 5 }), {
      signal,
    }).catch(() => undefined),
    fetchJson<Paged<FeedRow>>(path(["console", "feed"], { session: id, limit: 50 }), {
      signal,
    }).catch(() => undefined),
  ]);
  return {
    title: runs.session.title,
    runs: runs.data,
    row: rows?.data.find((row) => row.id === id),
    requests: requests?.data ?? [],
  };
}

export function GatewayPage({ id }: { id: string }) {
  const { known } = usePoll(`gateway ${id}`, (signal) => load(id, signal), 3_000);
  const session = known.value.value;
  return (
    <Page
      title={session?.title || t("session.gateway", { id: shortId(id) })}
      crumbs={<Crumbs page="sessions" id={id} />}
      badge={session?.row && <HealthBadge health={session.row.health} />}
      actions={
        <a class="button" href={link(["feed"], { session: id })}>
          <Icon name="feed" />
          {t("session.requests")}
        </a>
      }
    >
      <Loaded known={known.value}>
        {({ runs, row, requests }) => (
          <>
            {row !== undefined && (
              <div class="figures">
                <div class="figure wide">
                  <Findings counts={row.findings} />
                  <span>{t("sessions.findings")}</span>
                </div>
              </div>
            )}
            {requests.length > 0 && <Requests rows={requests} />}
            {runs.length === 0 ? (
              <Empty icon="runs" title={t("runs.none")} />
            ) : (
              <Runs rows={runs} />
            )}
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Requests({ rows }: { rows: readonly FeedRow[] }) {
  return (
    <section class="panel">
      <header>
        <h2>{t("nav.feed")}</h2>
      </header>
      <table class="table">
        <thead>
          <tr>
            <th>{t("feed.action")}</th>
            <th>{t("feed.at")}</th>
            <th>{t("feed.findings")}</th>
            <th>{t("feed.request")}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.id}>
              <td>
                <Action row={row} />
              </td>
              <td class="soft">{clock(row.at)}</td>
              <td>
                <Findings counts={row.findings} />
              </td>
              <td>
                <a href={link(["feed", row.id])}>
                  {row.action === "fixed" ? t("feed.sides") : t("feed.open")}
                </a>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Runs({ rows }: { rows: readonly RunRow[] }) {
  return (
    <section class="panel">
      <header>
        <h2>{t("nav.runs")}</h2>
      </header>
      <table class="table">
        <thead>
          <tr>
            <th>{t("runs.state")}</th>
            <th>{t("runs.run")}</th>
            <th>{t("runs.calls")}</th>
            <th class="num wide-only">{t("runs.took")}</th>
            <th class="num">{t("runs.began")}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((run) => (
            <tr key={run.id}>
              <td>
                <RunBadge
                  phase={run.state === "open" ? "running" : "ended"}
                  outcome={run.outcome ?? undefined}
                />
              </td>
              <td>
                <a class="mono" title={run.id} href={link(["runs", run.id])}>
                  {shortId(run.id)}
                </a>
              </td>
              <td>
                <CallCounts counts={run.calls?.by_status} total={run.calls?.total} />
              </td>
              <td class="num wide-only">{span((run.ended ?? now.value) - run.started)}</td>
              <td class="num" title={moment(run.started)}>
                {ago(run.started, now.value)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
