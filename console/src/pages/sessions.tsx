/** All sessions of agents on this machine and of the gateway, with their health. */

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { fetchJson, path } from "../data/ask.js";
import { now } from "../data/clock.js";
import { usePoll } from "../data/poll.js";
import { HEALTHS, type SessionList, type SessionRow } from "../data/types.js";
import { Badge, Findings, HealthBadge } from "../parts/badge.js";
import { Empty, Loaded, Page } from "../parts/frame.js";
import { Icon } from "../parts/icon.js";
import { LongList } from "../parts/long.js";
import { link, route, setQuery } from "../route.js";
import { ago, bytes, count, labelOf, moment, t } from "../words.js";

const MAX_ROWS = 1_000;

export function SessionsPage() {
  const { query } = route.value;
  const parameter = (name: string) => query.get(name) ?? "";
  const filter = {
    q: parameter("q"),
    health: parameter("health"),
    agent: parameter("agent"),
    source: parameter("source"),
    rule: parameter("rule"),
    sub_agents: parameter("sub_agents"),
  };
  const address = path(["console", "sessions"], { ...filter, limit: MAX_ROWS });
  const poll = usePoll(address, (signal) => fetchJson<SessionList>(address, { signal }), 3_000);
  const active = useSignal(0);
  const search = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key !== "/" || event.target instanceof HTMLInputElement) return;
      event.preventDefault();
      search.current?.focus();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  // The old list stays until the first response for the new filter.
  const last = useRef<SessionList>(undefined);
  const known = poll.known.value;
  if (known.value !== undefined) last.current = known.value;
  const shown =
    known.value === undefined && last.current ? { ...known, value: last.current } : known;
  return (
    <Page title={t("nav.sessions")} sub={<Scan list={shown.value} />}>
      <div class="bar">
        <label class="search">
          <Icon name="search" />
          <input
            ref={search}
            class="field"
            type="search"
            placeholder={t("sessions.search")}
            aria-label={t("sessions.search")}
            aria-keyshortcuts="/"
            value={filter.q}
            onInput={(event) => setQuery({ q: event.currentTarget.value })}
          />
        </label>
        <Choice
          label={t("sessions.source")}
          value={filter.source}
          name="source"
          options={[
            ["", t("sessions.source.all")],
            ["file", t("sessions.source.file")],
            ["gateway", t("sessions.source.gateway")],
          ]}
        />
        <label class="chip">
          <input
            type="checkbox"
            checked={filter.sub_agents === "true"}
            onChange={(event) =>
              setQuery({ sub_agents: event.currentTarget.checked ? "true" : "" })
            }
          />
          {t("sessions.subagents")}
        </label>
        {filter.rule !== "" && (
          <button
            type="button"
            class="chip"
            aria-pressed="true"
            onClick={() => setQuery({ rule: "" })}
          >
            {filter.rule} <Icon name="cross" /> <span class="unseen">{t("filter.remove")}</span>
          </button>
        )}
      </div>
      <Healths list={shown.value} chosen={filter.health} />
      {shown.value !== undefined && !shown.value.files.enabled && (
        <p class="note">
          <Icon name="lock" />
          {labelOf("refused", shown.value.files.why ?? "files_off")}
        </p>
      )}
      <Loaded known={shown}>
        {(list) =>
          list.data.length === 0 ? (
            <Empty
              icon="sessions"
              title={Object.values(filter).some(Boolean) ? t("filter.none") : t("sessions.none")}
            >
              {Object.values(filter).some(Boolean) ? "" : t("sessions.none.how")}
            </Empty>
          ) : (
            <section class="panel fill">
              <div class="row-head sessions-grid" aria-hidden="true">
                <span>{t("sessions.health")}</span>
                <span>{t("sessions.session")}</span>
                <span>{t("sessions.agent")}</span>
                <span>{t("sessions.findings")}</span>
                <span class="right">{t("sessions.messages")}</span>
                <span class="right">{t("sessions.size")}</span>
                <span class="right">{t("sessions.touched")}</span>
              </div>
              <LongList
                label={t("nav.sessions")}
                count={list.data.length}
                height={2.75}
                active={active}
                row={(index) => {
                  const row = list.data[index];
                  return row && <SessionLine row={row} stop={index === active.value} />;
                }}
              />
            </section>
          )
        }
      </Loaded>
      {shown.value?.has_more === true && <p class="muted">{t("sessions.more", { n: MAX_ROWS })}</p>}
    </Page>
  );
}

function SessionLine({ row, stop }: { row: SessionRow; stop: boolean }) {
  const size = row.size ?? 0;
  return (
    <a
      class="row sessions-grid tall"
      href={link(["sessions", row.id])}
      data-stop
      tabIndex={stop ? 0 : -1}
    >
      <HealthBadge health={row.health} />
      <span class="two">
        <span class="cut">{row.title ?? row.session}</span>
        <span class="cut muted">{row.project ?? row.owner ?? ""}</span>
      </span>
      <span class="bar tight">
        <span class="cut soft">
          {row.source === "gateway" ? t("sessions.source.gateway") : (row.product ?? row.agent)}
        </span>
        {row.live === true && (
          <Badge tone="run" icon="live" plain>
            {t("sessions.live")}
          </Badge>
        )}
      </span>
      <Findings counts={row.findings} />
      <span class="right num soft">
        {row.messages == null
          ? row.records === undefined
            ? "–"
            : count(row.records)
          : count(row.messages)}
      </span>
      <span class="right num soft">{size === 0 ? "–" : bytes(size)}</span>
      <span class="right num soft" title={moment(row.touched)}>
        {ago(row.touched, now.value)}
      </span>
    </a>
  );
}

function Scan({ list }: { list: SessionList | undefined }) {
  const scan = list?.scan;
  if (scan?.state !== "running") return null;
  return <span role="status">{t("sessions.scan", { n: scan.looked, total: scan.total })}</span>;
}

function Healths({ list, chosen }: { list: SessionList | undefined; chosen: string }) {
  const counts = list?.counts ?? {};
  const seen = HEALTHS.filter((health) => (counts[health] ?? 0) > 0 || chosen === health);
  return (
    <div class="chips" role="group" aria-label={t("sessions.health")}>
      <button
        type="button"
        class="chip"
        aria-pressed={chosen === ""}
        onClick={() => setQuery({ health: "" })}
      >
        {t("all")}
        <span class="num">{count(Object.values(counts).reduce((sum, n) => sum + n, 0))}</span>
      </button>
      {seen.map((health) => (
        <button
          key={health}
          type="button"
          class="chip"
          aria-pressed={chosen === health}
          onClick={() => setQuery({ health: chosen === health ? "" : health })}
        >
          {labelOf("health", health)}
          <span class="num">{count(counts[health] ?? 0)}</span>
        </button>
      ))}
    </div>
  );
}

/** A select box whose value is a query parameter. */
export function Choice(props: {
  label: string;
  name: string;
  value: string;
  options: readonly (readonly [string, string])[];
}) {
  return (
    <select
      class="field"
      aria-label={props.label}
      value={props.value}
      onChange={(event) => setQuery({ [props.name]: event.currentTarget.value })}
    >
      {props.options.map(([value, label]) => (
        <option key={value} value={value} selected={value === props.value}>
          {label}
        </option>
      ))}
    </select>
  );
}
