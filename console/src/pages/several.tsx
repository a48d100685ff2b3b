/** Repairs several sessions: what would be done to each, then all of it with one confirmation. */

import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";

import { fetchJson, path } from "../data/ask.js";
import { usePoll } from "../data/poll.js";
import { type RepairState, SeveralRepairs } from "../data/several.js";
import type { Plan, SessionList, SessionRow } from "../data/types.js";
import { announceText } from "../parts/announce.js";
import { Badge, HealthBadge } from "../parts/badge.js";
import { CommandLine, ConfirmButton } from "../parts/button.js";
import { Empty, Page, errorText, shortId } from "../parts/frame.js";
import { Icon } from "../parts/icon.js";
import { link, route } from "../route.js";
import { count, plural, t } from "../words.js";
import { undo } from "./session.js";

export function SeveralPage() {
  const ids = route.value.query.get("ids") ?? "";
  const repairs = useMemo(() => new SeveralRepairs(ids.split(",").filter(Boolean)), [ids]);
  useEffect(() => {
    void repairs.plan();
    return () => repairs.close();
  }, [repairs]);
  const address = path(["console", "sessions"], {
    source: "file",
    sub_agents: "true",
    limit: 1_000,
  });
  const { known } = usePoll(address, (signal) => fetchJson<SessionList>(address, { signal }), 0);
  const rows = new Map((known.value.value?.data ?? []).map((row) => [row.id, row]));
  const planned = repairs.count("planned");
  const done = repairs.count("done");
  const waiting = repairs.count("waiting");
  return (
    <Page
      title={t("several.title")}
      crumbs={
        <>
          <a href={link(["sessions"])}>{t("nav.sessions")}</a>
          <span>/</span>
          <span>{t("several.title")}</span>
        </>
      }
      sub={
        <span role="status">
          {waiting > 0
            ? t("several.planning", { n: repairs.ids.length - waiting, total: repairs.ids.length })
            : done > 0
              ? plural("several.done.one", "several.done", done)
              : plural("several.ready.one", "several.ready", planned)}
        </span>
      }
      actions={
        planned > 0 ? (
          <ConfirmButton
            main
            icon="wrench"
            confirmLabel={plural("several.sure.one", "several.sure", planned)}
            disabled={waiting > 0 || repairs.count("working") > 0}
            run={async () => {
              await repairs.apply();
              announceText(plural("several.done.one", "several.done", repairs.count("done")));
            }}
          >
            {plural("several.apply.one", "several.apply", planned)}
          </ConfirmButton>
        ) : undefined
      }
    >
      {repairs.ids.length === 0 ? (
        <Empty icon="check" title={t("several.none")}>
          <a href={link(["sessions"])}>{t("nav.sessions")}</a>
        </Empty>
      ) : (
        <section class="panel">
          <ul class="cards-list">
            {repairs.ids.map((id) => (
              <Line key={id} id={id} row={rows.get(id)} repairs={repairs} />
            ))}
          </ul>
        </section>
      )}
    </Page>
  );
}

function Line(props: { id: string; row: SessionRow | undefined; repairs: SeveralRepairs }) {
  const { id, row, repairs } = props;
  const state = repairs.states.get(id)?.value ?? { type: "waiting" };
  return (
    <li data-repair={state.type}>
      <div class="card-head">
        <Standing state={state} row={row} />
        <a class="cut" href={link(["sessions", id])}>
          {row?.title ?? row?.session ?? shortId(id)}
        </a>
        <span class="end">
          {(state.type === "planned" || state.type === "live") && (
            <a class="button small" href={link(["sessions", id, "repair"])}>
              {t("several.review")}
            </a>
          )}
          {state.type === "failed" && (
            <button
              type="button"
              class="button small"
              onClick={() => void repairs.planOne(id)}
            >
              {t("repair.again")}
            </button>
          )}
          {state.type === "done" && <Undo id={id} repairs={repairs} state={state} />}
        </span>
      </div>
      <Detail state={state} />
    </li>
  );
}

function Standing({ state, row }: { state: RepairState; row: SessionRow | undefined }) {
  switch (state.type) {
    case "planned":
    case "working":
      return <HealthBadge health={state.plan.health.before} />;
    case "done":
      return <HealthBadge health={state.applied.health} />;
    case "waiting":
    case "nothing":
    case "live":
    case "failed":
      return row === undefined ? null : <HealthBadge health={row.health} />;
  }
}

function Detail({ state }: { state: RepairState }) {
  switch (state.type) {
    case "waiting":
      return <p class="muted" data-loading>{t("loading")}</p>;
    case "nothing":
      return <p class="muted">{t("repair.nothing")}</p>;
    case "live":
      return (
        <p class="muted">
          {state.who ?? t("sessions.live.about")} {t("repair.live")}
        </p>
      );
    case "planned":
      return (
        <p class="soft">
          {edits(state.plan)} <Icon name="arrow" class="inline" />{" "}
          <HealthBadge health={state.plan.health.after} />
        </p>
      );
    case "working":
      return (
        <Badge tone="run" icon="wrench" plain>
          {t("several.working")}
        </Badge>
      );
    case "failed":
      return <p class="note tone-bad">{errorText(state.error)}</p>;
    case "done":
      return (
        <div class="stack tight">
          <p class="soft">{plural("repair.made.one", "repair.made", state.applied.applied)}</p>
          {state.applied.resume !== null && (
            <CommandLine label={t("repair.next")} command={state.applied.resume} />
          )}
        </div>
      );
  }
}

/** The number of edits, and the thinking that they cost. */
function edits(plan: Plan): string {
  const lost = plan.edits.filter(({ strategy }) => strategy === "drop-thinking").length;
  const rest = plan.edits_total - lost;
  const all = [t("several.edits", { n: count(rest) })];
  if (lost > 0) all.push(plural("repair.thinking.one", "repair.thinking", lost));
  return all.join(" · ");
}

function Undo(props: {
  id: string;
  repairs: SeveralRepairs;
  state: Extract<RepairState, { type: "done" }>;
}) {
  const { id, repairs, state } = props;
  const error = useSignal<Error | undefined>(undefined);
  if (!state.applied.undo.available) return null;
  return (
    <>
      {error.value !== undefined && <span class="soft">{errorText(error.value)}</span>}
      <ConfirmButton
        icon="undo"
        confirmLabel={t("repair.undo.sure")}
        run={async () => {
          error.value = await undo(id);
          if (error.value === undefined) await repairs.planOne(id);
        }}
      >
        {t("repair.undo")}
      </ConfirmButton>
    </>
  );
}
