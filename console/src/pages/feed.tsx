/** Requests through the gateway, live: findings, action, upstream and response status. */

import { signal, useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";

import { fetchJson, path } from "../data/ask.js";
import { ALL_ACTIONS } from "../data/outcome.js";
import { usePoll } from "../data/poll.js";
import { headers } from "../data/token.js";
import type { FeedRow, FeedView, Paged } from "../data/types.js";
import { Findings } from "../parts/badge.js";
import { Empty, Loaded, Page, ErrorNote } from "../parts/frame.js";
import { Icon } from "../parts/icon.js";
import { LongList } from "../parts/long.js";
import { isNarrow } from "../parts/narrow.js";
import { link, route, setQuery } from "../route.js";
import { clock, labelOf, span, t } from "../words.js";
import { Action, RequestFacts, StatusCode, reasonText } from "./request.js";
import { Choice } from "./sessions.js";

const MAX_ROWS = 2_000;
const FILTERS = ["q", "action", "status", "face", "match", "rule", "session", "run"] as const;

export function FeedPage() {
  const { query } = route.value;
  const filters = Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? ""]));
  const key = JSON.stringify(filters);
  const feed = useMemo(() => new Feed(filters), [key]);
  useEffect(() => {
    void feed.run();
    return () => feed.abort.abort();
  }, [feed]);
  const active = useSignal(0);
  void feed.changes.value;
  const chosen = query.get("id") ?? "";
  const { rows } = feed;
  return (
    <Page title={t("nav.feed")} sub={<FeedStatus feed={feed} />}>
      <div class="bar">
        <label class="search">
          <Icon name="search" />
          <input
            class="field"
            type="search"
            placeholder={t("feed.search")}
            aria-label={t("feed.search")}
            value={filters.q}
            onChange={(event) => setQuery({ q: event.currentTarget.value })}
          />
        </label>
        <Choice
          label={t("feed.action")}
          name="action"
          value={filters.action ?? ""}
          options={[
            ["", t("feed.action.all")],
            ...ALL_ACTIONS.map((one) => [one, labelOf("action", one)] as const),
          ]}
        />
        <Choice
          label={t("feed.status")}
          name="status"
          value={filters.status ?? ""}
          options={[
            ["", t("feed.status.all")],
            ["2xx", "2xx"],
            ["4xx", "4xx"],
            ["5xx", "5xx"],
          ]}
        />
        <Choice
          label={t("feed.match")}
          name="match"
          value={filters.match ?? ""}
          options={[
            ["", t("feed.match.all")],
            ...["new", "prefix", "session-id", "response", "call"].map(
              (one) => [one, labelOf("match", one)] as const,
            ),
          ]}
        />
        {(["session", "run", "rule"] as const).map(
          (name) =>
            filters[name] !== "" && (
              <button
                key={name}
                type="button"
                class="chip"
                aria-pressed="true"
                onClick={() => setQuery({ [name]: "" })}
              >
                {filters[name]} <Icon name="cross" />{" "}
                <span class="unseen">{t("filter.remove")}</span>
              </button>
            ),
        )}
      </div>
      {feed.error !== undefined && <ErrorNote error={feed.error} />}
      {feed.isLoaded && rows.length === 0 && (
        <Empty icon="feed" title={t("feed.none")}>
          {t("feed.none.how")}
        </Empty>
      )}
      {rows.length > 0 && (
        <div class="calls">
          <section class="panel fill">
            <div class="row-head feed-grid" aria-hidden="true">
              <span>{t("feed.at")}</span>
              <span>{t("feed.action")}</span>
              <span>{t("feed.request")}</span>
              <span>{t("feed.findings")}</span>
              <span>{t("feed.match")}</span>
              <span class="right">{t("feed.status")}</span>
              <span class="right">{t("feed.took")}</span>
            </div>
            <LongList
              label={t("nav.feed")}
              count={rows.length}
              height={isNarrow.value ? 3.75 : 2.25}
              active={active}
              row={(index) => {
                const row = rows[index];
                return (
                  row && (
                    <FeedLine row={row} stop={index === active.value} chosen={row.id === chosen} />
                  )
                );
              }}
            />
          </section>
          {chosen !== "" && <RequestPanel key={chosen} id={chosen} />}
        </div>
      )}
    </Page>
  );
}

function FeedLine({ row, stop, chosen }: { row: FeedRow; stop: boolean; chosen: boolean }) {
  return (
    <button
      type="button"
      class={`row feed-grid ${chosen ? "chosen" : ""}`}
      data-stop
      tabIndex={stop ? 0 : -1}
      onClick={() => setQuery({ id: chosen ? "" : row.id })}
    >
      <span class="muted num">{clock(row.at)}</span>
      <Action row={row} />
      <span class="cut">
        {row.model ?? t("feed.nomodel")}{" "}
        <span class="muted">
          {labelOf("endpoint", row.face)}
          {row.upstream !== null && ` → ${row.upstream}`}
        </span>
        {row.error !== null && <span class="bad"> {reasonText(row.error)}</span>}
      </span>
      <Findings counts={row.findings} />
      <span class="cut soft">
        {row.match === null
          ? row.session === null
            ? t("feed.before")
            : "–"
          : labelOf("match", row.match)}
      </span>
      <span class="right">
        <StatusCode status={row.status} />
      </span>
      <span class="right num soft">{span(row.ms)}</span>
    </button>
  );
}

function RequestPanel({ id }: { id: string }) {
  const { known } = usePoll(
    id,
    (signal) => fetchJson<FeedView>(path(["console", "feed", id]), { signal }),
    0,
  );
  return (
    <section class="panel call-panel wide" aria-label={t("feed.request")}>
      <header>
        <h2>{t("feed.request")}</h2>
        <button type="button" class="button small quiet end" onClick={() => setQuery({ id: "" })}>
          <Icon name="cross" />
          {t("close")}
        </button>
      </header>
      <div class="inside stack">
        <Loaded known={known.value}>
          {(row) => (
            <>
              <a class="button" href={link(["feed", id])}>
                <Icon name={row.rows === null ? "feed" : "wrench"} />
                {row.rows === null ? t("feed.open") : t("feed.sides")}
              </a>
              <RequestFacts row={row} />
            </>
          )}
        </Loaded>
      </div>
    </section>
  );
}

/** Whether the feed is live. */
function FeedStatus({ feed }: { feed: Feed }) {
  void feed.changes.value;
  const { connection } = feed;
  if (connection.type === "lost")
    return <span role="status">{t("run.lost", { at: clock(connection.since) })}</span>;
  return <span>{connection.type === "up" ? t("feed.live") : t("loading")}</span>;
}

/** Loads the newest requests and follows new ones. */
class Feed {
  rows: readonly FeedRow[] = [];
  isLoaded = false;
  error: Error | undefined;
  connection: { type: "new" } | { type: "up" } | { type: "lost"; since: number } = { type: "new" };
  readonly changes = signal(0);
  readonly abort = new AbortController();
  #last = "";

  constructor(private readonly filter: Readonly<Record<string, string | undefined>>) {}

  async run(): Promise<void> {
    for (let delay = 500; !this.abort.signal.aborted; delay = Math.min(8_000, delay * 2)) {
      try {
        await this.#load();
        await this.#follow();
        delay = 250;
      } catch (error) {
        if (this.abort.signal.aborted) return;
        if (!this.isLoaded) this.error = error as Error;
      }
      if (this.abort.signal.aborted) return;
      if (this.connection.type !== "lost") this.connection = { type: "lost", since: Date.now() };
      this.changes.value += 1;
      await new Promise((done) => setTimeout(done, delay));
    }
  }

  async #load(): Promise<void> {
    const { signal } = this.abort;
    const page = await fetchJson<Paged<FeedRow>>(
      path(["console", "feed"], { ...this.filter, limit: 500 }),
      { signal },
    );
    this.rows = page.data;
    this.#last = page.data[0]?.id ?? "";
    this.isLoaded = true;
    this.error = undefined;
    this.changes.value += 1;
  }

  async #follow(): Promise<void> {
    const { signal } = this.abort;
    const after = this.#last === "" ? undefined : this.#last;
    const reply = await fetch(path(["console", "feed", "events"], { ...this.filter, after }), {
      headers: { accept: "text/event-stream", ...headers() },
      credentials: "omit",
      cache: "no-store",
      signal,
    });
    if (!reply.ok || reply.body === null) throw new Error(`${reply.status}`);
    this.connection = { type: "up" };
    this.changes.value += 1;
    const reader = reply.body.getReader();
    const decoder = new TextDecoder();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const frames = (rest + decoder.decode(value, { stream: true })).split("\n\n");
      rest = frames.pop() ?? "";
      this.#take(frames);
    }
  }

  #take(frames: readonly string[]): void {
    const fresh: FeedRow[] = [];
    for (const frame of frames) {
      const lines = frame.split("\n");
      const data = lines.find((line) => line.startsWith("data:"));
      if (!lines.includes("event: request") || data === undefined) continue;
      try {
        fresh.push(JSON.parse(data.slice(5)) as FeedRow);
      } catch {
        // An incomplete frame is not a request.
      }
    }
    if (fresh.length === 0) return;
    const known = new Set(this.rows.slice(0, 500).map(({ id }) => id));
    const added = fresh.filter(({ id }) => !known.has(id)).reverse();
    this.rows = [...added, ...this.rows].slice(0, MAX_ROWS);
    this.#last = this.rows[0]?.id ?? "";
    this.changes.value += 1;
  }
}
