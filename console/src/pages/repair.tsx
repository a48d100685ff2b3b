/** The preview of a repair: before and after side by side, with a reason for every edit. */

import { useSignal } from "@preact/signals";
import { useCallback, useRef } from "preact/hooks";

import { fetchJson, fetchText, path } from "../data/ask.js";
import type { Applied, Plan, PlanRow, Sliced } from "../data/types.js";
import { announceText } from "../parts/announce.js";
import { Findings, HealthBadge } from "../parts/badge.js";
import { CommandLine, CopyButton, ConfirmButton } from "../parts/button.js";
import { Crumbs, Empty, Page, ErrorNote, errorText } from "../parts/frame.js";
import { Icon } from "../parts/icon.js";
import { LongList } from "../parts/long.js";
import { EditList, RepairRow } from "../parts/sides.js";
import { link } from "../route.js";
import { bytes, count, plural, t } from "../words.js";
import { useSlices } from "./session/slices.js";
import { undo } from "./session.js";

export function RepairPage({ id }: { id: string }) {
  const round = useSignal(0);
  const made = useSignal<Applied | undefined>(undefined);
  return (
    <Planned
      key={round.value}
      id={id}
      made={made.value}
      again={(applied) => {
        made.value = applied;
        round.value += 1;
      }}
    />
  );
}

function Planned(props: {
  id: string;
  made: Applied | undefined;
  again: (made?: Applied) => void;
}) {
  const { id, made, again } = props;
  const plan = useRef<Plan>(undefined);
  const error = useSignal<Error | undefined>(undefined);
  const base = ["console", "sessions", id];
  const slices = useSlices<PlanRow>(id, async (from, limit, signal) => {
    const page = await fetchJson<Plan>(path([...base, "repair"], { from, limit }), { signal });
    plan.current = page;
    return page as Sliced<PlanRow>;
  });
  const active = useSignal(0);
  const seen = useCallback((from: number, to: number) => slices.setVisible(from, to), [slices]);
  void slices.changes.value;
  const total = slices.total.value;
  const known = plan.current;
  const apply = async () => {
    try {
      const applied = await fetchJson<Applied>(path([...base, "repair"]), {
        method: "POST",
        body: { plan: known?.plan },
      });
      announceText(plural("repair.made.one", "repair.made", applied.applied));
      again(applied);
    } catch (cause) {
      error.value = cause as Error;
    }
  };
  return (
    <Page
      title={t("repair.title")}
      crumbs={<Crumbs page="sessions" id={id} to={["sessions", id]} last={t("repair.title")} />}
      badge={
        known !== undefined && known.changes ? (
          <span class="bar">
            <HealthBadge health={known.health.before} />
            <Icon name="arrow" />
            <HealthBadge health={known.health.after} />
          </span>
        ) : undefined
      }
      actions={
        known?.changes === true ? (
          <>
            <CopyButton
              small={false}
              label={t("repair.markdown")}
              text={() => fetchText(path([...base, "repair.md"]))}
            />
            <ConfirmButton
              main
              icon="wrench"
              confirmLabel={t("repair.apply.sure")}
              disabled={known.live.is || known.plan === null}
              run={apply}
            >
              {plural("repair.apply.one", "repair.apply", known.edits_total)}
            </ConfirmButton>
          </>
        ) : undefined
      }
    >
      {slices.error.value !== undefined && <ErrorNote error={slices.error.value} />}
      {error.value !== undefined && (
        <div class="note tone-bad" role="status">
          <Icon name="cross" />
          <div>
            {errorText(error.value)}{" "}
            <button type="button" class="button small" onClick={() => again()}>
              {t("repair.again")}
            </button>
          </div>
        </div>
      )}
      {made !== undefined && <Made id={id} made={made} again={again} />}
      {known?.live.is === true && (
        <p class="note tone-run">
          <Icon name="live" />
          {known.live.who ?? t("sessions.live.about")} {t("repair.live")}
        </p>
      )}
      {known !== undefined && !known.changes && made === undefined && (
        <Empty icon="check" title={t("repair.nothing")} />
      )}
      {known?.changes === true && (
        <>
          <Summary plan={known} />
          <section class="panel fill">
            <div class="row-head sides" aria-hidden="true">
              <span>{t("repair.before", { n: known.messages.before })}</span>
              <span>{t("repair.after", { n: known.messages.after })}</span>
            </div>
            <LongList
              label={t("repair.title")}
              count={total ?? 0}
              height={6}
              measured
              active={active}
              onSeen={seen}
              row={(index) => {
                const row = slices.row(index);
                return (
                  <div data-stop tabIndex={index === active.value ? 0 : -1} class="side-row">
                    {row === undefined ? "…" : <RepairRow row={row} edits={known.edits} />}
                  </div>
                );
              }}
            />
          </section>
        </>
      )}
    </Page>
  );
}

function Made({ id, made, again }: { id: string; made: Applied; again: () => void }) {
  const error = useSignal<Error | undefined>(undefined);
  return (
    <div class="note tone-ok" role="status">
      <Icon name="check" />
      <div class="stack">
        <b>{plural("repair.made.one", "repair.made", made.applied)}</b>
        <span class="bar">
          <HealthBadge health={made.health} />
          {made.backup !== null && (
            <span class="mono soft">{t("repair.backup", { path: made.backup })}</span>
          )}
        </span>
        {made.resume !== null && <CommandLine label={t("repair.next")} command={made.resume} />}
        <span class="bar">
          <a class="button" href={link(["sessions", id])}>
            {t("repair.see")}
          </a>
          {made.undo.available && (
            <ConfirmButton
              icon="undo"
              confirmLabel={t("repair.undo.sure")}
              run={async () => {
                error.value = await undo(id);
                if (error.value === undefined) again();
              }}
            >
              {t("repair.undo")}
            </ConfirmButton>
          )}
          {error.value !== undefined && <span>{errorText(error.value)}</span>}
        </span>
      </div>
    </div>
  );
}

function Summary({ plan }: { plan: Plan }) {
  return (
    <>
      <div class="figures">
        <div class="figure">
          <b>{count(plan.edits_total)}</b>
          <span>{t("repair.edits.count")}</span>
        </div>
        <div class="figure">
          <b>
            {bytes(plan.bytes.before)} → {bytes(plan.bytes.after)}
          </b>
          <span>{t("sessions.size")}</span>
        </div>
        <div class="figure wide">
          <Findings counts={plan.findings.before} />
          <span>{t("repair.found")}</span>
        </div>
      </div>
      <EditList edits={plan.edits} total={plan.edits_total} />
    </>
  );
}
