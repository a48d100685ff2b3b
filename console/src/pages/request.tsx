/** A request through the gateway: what was found, and its history before and after the repair. */

import { fetchJson, path } from "../data/ask.js";
import { outcomeOf } from "../data/outcome.js";
import { usePoll } from "../data/poll.js";
import type { FeedRow, FeedView } from "../data/types.js";
import { Badge, Findings } from "../parts/badge.js";
import { Crumbs, Loaded, Page, shortId } from "../parts/frame.js";
import { Icon } from "../parts/icon.js";
import { EditList, RepairRow, type ShownEdit } from "../parts/sides.js";
import { JsonText } from "../parts/text.js";
import { link } from "../route.js";
import { bytes, clock, count, labelOf, plural, span, t } from "../words.js";

export function RequestPage({ id }: { id: string }) {
  const { known } = usePoll(
    id,
    (signal) => fetchJson<FeedView>(path(["console", "feed", id]), { signal }),
    0,
  );
  const row = known.value.value;
  return (
    <Page
      title={row === undefined ? t("feed.request") : (row.model ?? t("feed.nomodel"))}
      sub={row && clock(row.at)}
      crumbs={<Crumbs page="feed" id={row?.request ?? id} />}
      badge={row && <Action row={row} />}
    >
      <Loaded known={known.value}>
        {(row) => (
          <>
            <div class="two-columns">
              <section class="panel">
                <div class="inside stack">
                  <RequestFacts row={row} brief />
                </div>
              </section>
              {row.changes !== null && (
                <EditList edits={editsOf(row)} total={row.changes.length} />
              )}
            </div>
            <Sides row={row} />
            <Bodies row={row} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Sides({ row }: { row: FeedView }) {
  if (row.rows === null) {
    return row.action === "fixed" ? (
      <p class="note">
        <Icon name="lock" />
        {t("feed.left")}
      </p>
    ) : null;
  }
  const edits = editsOf(row);
  return (
    <section class="panel" aria-label={t("feed.sides")}>
      <div class="row-head sides" aria-hidden="true">
        <span>{t("feed.in")}</span>
        <span>{t("feed.out")}</span>
      </div>
      {row.rows.map((one, at) => (
        <div key={at} class="side-row">
          <RepairRow row={one} edits={edits} />
        </div>
      ))}
    </section>
  );
}

function Bodies({ row }: { row: FeedView }) {
  if (row.body_before === null && row.body_after === null) return null;
  return (
    <details class="panel bodies">
      <summary>{t("feed.json")}</summary>
      <div class="inside two-columns">
        {row.body_before !== null && (
          <div>
            <h3>{t("feed.in")}</h3>
            <JsonText text={row.body_before} />
          </div>
        )}
        {row.body_after !== null && (
          <div>
            <h3>{t("feed.out")}</h3>
            <JsonText text={row.body_after} />
          </div>
        )}
      </div>
    </details>
  );
}

function editsOf(row: FeedView): readonly ShownEdit[] {
  return (row.changes ?? []).map((change) => ({ ...change, name: "" }));
}

/** What is known about a request. `brief`: without its edits, which are shown beside it. */
export function RequestFacts({ row, brief = false }: { row: FeedView; brief?: boolean }) {
  return (
    <>
      <span class="bar">
        {!brief && <Action row={row} />}
        <StatusCode status={row.status} />
        {row.ended !== "whole" && (
          <Badge tone="warn" icon="warn">
            {labelOf("ended", row.ended)}
          </Badge>
        )}
        <Findings counts={row.findings} />
      </span>
      {row.error !== null && (
        <p class="note tone-bad">
          <Icon name="cross" />
          {reasonText(row.error)}
        </p>
      )}
      <dl class="facts">
        <dt>{t("feed.id")}</dt>
        <dd class="mono">{row.request}</dd>
        <dt>{t("feed.model")}</dt>
        <dd>{row.model ?? t("feed.nomodel")}</dd>
        <dt>{t("feed.upstream")}</dt>
        <dd>{row.upstream ?? "–"}</dd>
        <dt>{t("feed.match")}</dt>
        <dd>{row.match === null ? "–" : labelOf("match", row.match)}</dd>
        <dt>{t("feed.took")}</dt>
        <dd class="num">
          {span(row.ms)}
          {row.first_ms !== null && ` · ${t("feed.first", { span: span(row.first_ms) })}`}
        </dd>
        <dt>{t("feed.bytes")}</dt>
        <dd class="num">
          {bytes(row.bytes_in)} → {bytes(row.bytes_out)}
        </dd>
        {row.compacted !== null && (
          <>
            <dt>{t("nav.compaction")}</dt>
            <dd class="num">
              {count(row.compacted.tokens_before)} → {count(row.compacted.tokens_after)}
            </dd>
          </>
        )}
        {row.session !== null && (
          <>
            <dt>{t("run.session")}</dt>
            <dd>
              <a class="mono" title={row.session} href={link(["sessions", row.session])}>
                {shortId(row.session)}
              </a>
            </dd>
          </>
        )}
        {row.run !== null && (
          <>
            <dt>{t("runs.run")}</dt>
            <dd>
              <a class="mono" title={row.run} href={link(["runs", row.run])}>
                {shortId(row.run)}
              </a>
            </dd>
          </>
        )}
      </dl>
      {!brief && row.changes !== null && row.changes.length > 0 && (
        <EditList edits={editsOf(row)} total={row.changes.length} />
      )}
      {row.losses !== null && row.losses.length > 0 && (
        <details>
          <summary>{plural("feed.losses.one", "feed.losses", row.losses.length)}</summary>
          <ul>
            {row.losses.slice(0, 200).map((loss) => (
              <li key={loss}>{loss}</li>
            ))}
          </ul>
        </details>
      )}
      {!brief && row.rows === null && row.action === "fixed" && (
        <p class="muted">{t("feed.left")}</p>
      )}
    </>
  );
}

/** The outcome of a request. */
export function Action({ row }: { row: FeedRow }) {
  const { tone, icon, word, code } = outcomeOf(row);
  return (
    <Badge tone={tone} icon={icon}>
      {labelOf("action", word)}
      {code !== "" && <span class="num"> {code}</span>}
    </Badge>
  );
}

export function StatusCode({ status }: { status: number }) {
  const isSuccess = status >= 200 && status < 300;
  const tone = isSuccess ? "ok" : status < 500 ? "warn" : "bad";
  return (
    <Badge tone={tone} icon={isSuccess ? "check" : "cross"} plain>
      <span class="num">{status}</span>
    </Badge>
  );
}

/** The reason of a failure in words; its code if there are none. */
export function reasonText(code: string): string {
  return labelOf("refused", code);
}
