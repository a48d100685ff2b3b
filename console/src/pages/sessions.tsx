/** All sessions of agents on this machine and of the gateway, with their health. */

import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { fetchJson, path } from "../data/ask.js";
import { now } from "../data/clock.js";
import {
  type Column,
  type SessionOrder,
  isRepairable,
  nextOrder,
  parseOrder,
  sortRows,
} from "../data/order.js";
import { usePoll } from "../data/poll.js";
import { HEALTHS, type SessionList, type SessionRow } from "../data/types.js";
import { Badge, Findings, HealthBadge } from "../parts/badge.js";
import { Empty, Loaded, Page } from "../parts/frame.js";
import { Icon } from "../parts/icon.js";
import { LongList } from "../parts/long.js";
import { isNarrow } from "../parts/narrow.js";
import { link, route, setQuery } from "../route.js";
import { type TextKey, ago, bytes, count, labelOf, moment, plural, t } from "../words.js";

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
  const poll = usePoll(address, (signal) => loadSessions(address, filter, signal), 3_000);
  const order = parseOrder(parameter("sort"));
  const active = useSignal(0);
  const chosen = useSignal<ReadonlySet<string>>(new Set());
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
        <Choice
          label={t("sessions.agent")}
          value={filter.agent}
          name="agent"
          options={[
            ["", t("sessions.agent.all")],
            ...agentsOf(shown.value, filter.agent).map((agent) => [agent, agent] as const),
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
            <Rows rows={sortRows(list.data, order)} order={order} active={active} chosen={chosen} />
          )
        }
      </Loaded>
      {shown.value?.has_more === true && <p class="muted">{t("sessions.more", { n: MAX_ROWS })}</p>}
    </Page>
  );
}

/** The agents to choose from: those in the list, and the chosen one. */
function agentsOf(list: SessionList | undefined, chosen: string): readonly string[] {
  const all = new Set((list?.data ?? []).flatMap(({ product, agent }) => product ?? agent ?? []));
  if (chosen !== "") all.add(chosen);
  return [...all].sort();
}

/** The newest sessions. If there are more, those that need attention are added. */
async function loadSessions(
  address: string,
  filter: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<SessionList> {
  const list = await fetchJson<SessionList>(address, { signal });
  if (!list.has_more || filter.health !== "") return list;
  const attention = { ...filter, health: "needs-repair,history-missing", limit: MAX_ROWS };
  const more = await fetchJson<SessionList>(path(["console", "sessions"], attention), { signal });
  const known = new Set(list.data.map(({ id }) => id));
  return { ...list, data: [...list.data, ...more.data.filter(({ id }) => !known.has(id))] };
}

const HEADS: readonly (readonly [Column, TextKey, string])[] = [
  ["health", "sessions.health", ""],
  ["title", "sessions.session", ""],
  ["agent", "sessions.agent", ""],
  ["findings", "sessions.findings", ""],
  ["messages", "sessions.messages", "right"],
  ["size", "sessions.size", "right"],
  ["touched", "sessions.touched", "right"],
];

function Rows(props: {
  rows: readonly SessionRow[];
  order: SessionOrder | undefined;
  active: Signal<number>;
  chosen: Signal<ReadonlySet<string>>;
}) {
  const { rows, order, active, chosen } = props;
  const repairable = rows.filter(isRepairable);
  const ids = repairable.filter(({ id }) => chosen.value.has(id)).map(({ id }) => id);
  const toggle = (id: string, isChosen: boolean) => {
    const next = new Set(chosen.value);
    if (isChosen) next.add(id);
    else next.delete(id);
    chosen.value = next;
  };
  return (
    <section class="panel fill">
      {repairable.length > 0 && (
        <header>
          <label class="choice">
            <input
              type="checkbox"
              checked={ids.length === repairable.length}
              onChange={(event) => {
                const all = event.currentTarget.checked ? repairable.map(({ id }) => id) : [];
                chosen.value = new Set(all);
              }}
            />
            {plural("sessions.choose.one", "sessions.choose", repairable.length)}
          </label>
          <span class="end">
            {ids.length > 0 && (
              <a class="button main-one" href={link(["repair"], { ids: ids.join(",") })}>
                <Icon name="wrench" />
                {plural("sessions.repair.one", "sessions.repair", ids.length)}
              </a>
            )}
          </span>
        </header>
      )}
      <div class="row-head sessions-grid" role="group" aria-label={t("sessions.sort")}>
        <span aria-hidden="true">{isNarrow.value && t("sessions.sort")}</span>
        {HEADS.map(([column, label, side]) => (
          <span key={column} class={side}>
            <button
              type="button"
              class="sort"
              aria-pressed={order?.column === column}
              onClick={() => setQuery({ sort: nextOrder(order, column) })}
            >
              {t(label)}
              {order?.column === column && (
                <>
                  <Icon name={order.descending ? "down" : "up"} />
                  <span class="unseen">
                    {order.descending ? t("sessions.descending") : t("sessions.ascending")}
                  </span>
                </>
              )}
            </button>
          </span>
        ))}
      </div>
      <LongList
        label={t("nav.sessions")}
        count={rows.length}
        height={isNarrow.value ? 4 : 2.75}
        active={active}
        row={(index) => {
          const row = rows[index];
          if (row === undefined) return null;
          return (
            <SessionLine
              row={row}
              stop={index === active.value}
              isChosen={chosen.value.has(row.id)}
              choose={(isChosen) => toggle(row.id, isChosen)}
            />
          );
        }}
      />
    </section>
  );
}

function SessionLine(props: {
  row: SessionRow;
  stop: boolean;
  isChosen: boolean;
  choose: (isChosen: boolean) => void;
}) {
  const { row, stop, isChosen, choose } = props;
  const size = row.size ?? 0;
  const name = row.title ?? row.session;
  const canRepair = isRepairable(row);
  return (
    <div class={`row sessions-grid tall ${isChosen ? "chosen" : ""}`}>
      <span class="above">
        {canRepair && (
          <input
            type="checkbox"
            aria-label={t("sessions.choose.this", { title: name })}
            checked={isChosen}
            onChange={(event) => choose(event.currentTarget.checked)}
          />
        )}
      </span>
      <HealthBadge health={row.health} />
      <span class="two">
        <a
          class="cut cover"
          href={link(["sessions", row.id])}
          data-stop
          tabIndex={stop ? 0 : -1}
        >
          {name}
        </a>
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
      <span class="bar findings">
        <Findings counts={row.findings} />
        {canRepair && (
          <a
            class="button small above"
            href={link(["sessions", row.id, "repair"])}
            aria-label={t("sessions.repair.this", { title: name })}
          >
            <Icon name="wrench" />
            {t("repair.open")}
          </a>
        )}
      </span>
      <span class="right num soft" title={reachOf(row)}>
        {messagesOf(row)}
      </span>
      <span class="right num soft">{size === 0 ? "–" : bytes(size)}</span>
      <span class="right num soft" title={moment(row.touched)}>
        {ago(row.touched, now.value)}
      </span>
    </div>
  );
}

/** The number of messages; `5 / 8` if only five of them reach the model. */
function messagesOf({ messages, records, reach }: SessionRow): string {
  if (messages == null) return records === undefined ? "–" : count(records);
  if (reach == null || reach.before >= reach.messages) return count(messages);
  return `${count(reach.before)} / ${count(messages)}`;
}

/** What the two numbers say. */
function reachOf({ reach }: SessionRow): string | undefined {
  if (reach == null || reach.before >= reach.messages) return undefined;
  const { before, messages, after } = reach;
  return t("sessions.reach", { before, messages, after });
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
