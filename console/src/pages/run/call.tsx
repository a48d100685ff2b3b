/** One tool call in detail: ids, times, arguments and result. */

import { now } from "../../data/clock.js";
import type { LiveRun } from "../../data/live.js";
import { StatusBadge } from "../../parts/badge.js";
import { CopyButton } from "../../parts/button.js";
import { JsonTree, Text, Value } from "../../parts/text.js";
import type { RunSnapshot, ToolTruth } from "../../run.js";
import { clock, labelOf, span, t } from "../../words.js";
import { keyOf } from "./order.js";

export function CallPanel(props: {
  live: LiveRun;
  run: RunSnapshot;
  tool: ToolTruth;
  frozen: boolean;
  choose: (key: string) => void;
}) {
  const { live, run, tool, frozen, choose } = props;
  const known = live.notes.of(tool.call, tool.turn);
  const parent = run.tools.find(({ call }) => call === tool.parent);
  const below = run.tools.filter((other) => other.parent === tool.call);
  const isOver = known?.settled !== undefined;
  const until = known?.settled ?? (frozen || run.phase === "ended" ? live.notes.lastAt : now.value);
  return (
    <section class="panel call-panel" aria-label={t("run.call")}>
      <header>
        <h2 class="cut">{tool.name ?? t("run.unnamed")}</h2>
        <StatusBadge status={tool.status} reason={tool.reason} frozen={frozen} />
      </header>
      <div class="inside stack">
        {tool.status === "interrupted" && (
          <p class="note tone-warn">{t("status.interrupted.about")}</p>
        )}
        {tool.status === "cancelled" && <p class="note">{t("status.cancelled.about")}</p>}
        {!tool.called && <p class="note tone-warn">{t("run.nevercalled")}</p>}
        <dl class="facts">
          <dt>{t("run.id")}</dt>
          <dd class="mono">
            {tool.call} <CopyButton text={tool.call} label={t("copy")} />
          </dd>
          <dt>{t("run.turn")}</dt>
          <dd class="num">{tool.turn}</dd>
          {tool.title !== undefined && (
            <>
              <dt>{t("run.title")}</dt>
              <dd>{tool.title}</dd>
            </>
          )}
          {known?.opened !== undefined && (
            <>
              <dt>{t("run.called")}</dt>
              <dd class="num">
                {clock(known.opened)}
                {until !== undefined &&
                  ` · ${span(until - known.opened)}${isOver ? "" : ` ${t("run.sofar")}`}`}
              </dd>
            </>
          )}
          {parent !== undefined && (
            <>
              <dt>{t("run.parent")}</dt>
              <dd>
                <button type="button" class="button small" onClick={() => choose(keyOf(parent))}>
                  {parent.name ?? parent.call}
                </button>
              </dd>
            </>
          )}
          {below.length > 0 && (
            <>
              <dt>{t("run.below")}</dt>
              <dd class="num">{below.length}</dd>
            </>
          )}
        </dl>
        {(tool.asks ?? []).map((ask) => (
          <div key={ask.id} class="note tone-ask">
            <div>
              <b>{ask.kind === "approval" ? t("ask.approval") : t("ask.question")}</b>{" "}
              {labelOf("verdict", ask.verdict ?? "open")}
              {known?.asks.get(ask.id)?.prompt !== undefined && (
                <Text text={known.asks.get(ask.id)?.prompt ?? ""} />
              )}
            </div>
          </div>
        ))}
        <h3>{t("run.input")}</h3>
        {tool.input === undefined ? (
          <p class="muted">{t("run.noinput")}</p>
        ) : (
          <JsonTree value={tool.input} />
        )}
        {known?.progress !== undefined && tool.content === undefined && (
          <>
            <h3>{t("run.progress")}</h3>
            <Text text={known.progress} />
          </>
        )}
        <h3>{t("run.output")}</h3>
        {tool.content === undefined ? (
          <p class="muted">{t("run.nooutput")}</p>
        ) : (
          <Value value={tool.content} />
        )}
      </div>
    </section>
  );
}
