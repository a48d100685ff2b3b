/** The tool calls of a run on a time axis: waiting time, running time and status. */

import { type Signal, useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";

import { now } from "../../data/clock.js";
import type { LiveRun } from "../../data/live.js";
import { StatusBadge, toneOf } from "../../parts/badge.js";
import { Empty } from "../../parts/frame.js";
import { LongList } from "../../parts/long.js";
import { isNarrow } from "../../parts/narrow.js";
import type { RunSnapshot } from "../../run.js";
import { span, t } from "../../words.js";
import { type CallRow, isLabelShown, keyOf, rowsOf, ticks } from "./order.js";

export function Waterfall(props: {
  live: LiveRun;
  run: RunSnapshot;
  chosen: Signal<string>;
  frozen: boolean;
}) {
  const { live, run, chosen, frozen } = props;
  const rows = useMemo(() => rowsOf(run.tools), [run.tools]);
  const at = rows.findIndex(({ tool }) => keyOf(tool) === chosen.value);
  const active = useSignal(Math.max(0, at));
  if (rows.length === 0) {
    const title = run.phase === "ended" ? t("run.nocalls") : t("run.nocalls.yet");
    return <Empty icon="tool" title={title} />;
  }
  const { notes } = live;
  const start = notes.startedAt ?? 0;
  const last = notes.endedAt ?? notes.lastAt ?? start;
  // The axis grows only while the run is known to be open.
  const end = run.phase === "ended" || frozen ? last : Math.max(last, now.value);
  const length = Math.max(1, end - start);
  const marks = ticks(length, 5);
  const percentAt = (time: number | undefined) =>
    Math.max(0, Math.min(100, (((time ?? start) - start) / length) * 100));
  return (
    <div class="waterfall">
      <div class="axis fall-grid" aria-hidden="true">
        <span>{t("run.call")}</span>
        <span class="track">
          {marks.map((mark) => {
            const [share, label] = [mark / length, mark === 0 ? "0" : span(mark)];
            return (
              <i key={mark} style={{ left: `${share * 100}%` }}>
                {isLabelShown(share, label, isNarrow.value) && label}
              </i>
            );
          })}
        </span>
        <span class="right">{t("run.took")}</span>
      </div>
      <LongList
        label={t("run.calls")}
        role="tree"
        count={rows.length}
        height={2.125}
        active={active}
        onSide={(index, side) => {
          const row = rows[index];
          if (row !== undefined && side === "right") chosen.value = keyOf(row.tool);
        }}
        row={(index) => {
          const row = rows[index];
          if (row === undefined) return null;
          const known = notes.of(row.tool.call, row.tool.turn);
          const [opened, settled] = [known?.opened, known?.settled ?? (known && end)];
          // A call that never ran has only waiting time.
          const neverRan = row.tool.status === "cancelled" || row.tool.status === "denied";
          const begun = neverRan ? settled : (known?.begun ?? opened);
          return (
            <CallLine
              row={row}
              index={index}
              count={rows.length}
              stop={index === active.value}
              chosen={keyOf(row.tool) === chosen.value}
              frozen={frozen}
              choose={() => (chosen.value = keyOf(row.tool))}
              waits={[percentAt(opened), percentAt(begun)]}
              works={neverRan ? undefined : [percentAt(begun), percentAt(settled)]}
              took={known?.opened === undefined ? undefined : (settled ?? end) - known.opened}
            />
          );
        }}
      />
    </div>
  );
}

function CallLine(props: {
  row: CallRow;
  index: number;
  count: number;
  stop: boolean;
  chosen: boolean;
  frozen: boolean;
  choose: () => void;
  waits: readonly [number, number];
  works: readonly [number, number] | undefined;
  took: number | undefined;
}) {
  const { row, index, count, stop, chosen, frozen, choose, waits, works, took } = props;
  const { tool, depth, joinedUp, joinedDown } = row;
  const isOpen = ["unknown", "pending", "awaiting_approval", "running"].includes(tool.status);
  const lane = `lane ${joinedUp ? "up" : ""} ${joinedDown ? "down" : ""}`;
  return (
    <div
      class={`row fall-grid ${chosen ? "chosen" : ""}`}
      role="treeitem"
      aria-level={depth + 1}
      aria-setsize={count}
      aria-posinset={index + 1}
      aria-selected={chosen}
      data-stop
      data-call={tool.call}
      tabIndex={stop ? 0 : -1}
      onClick={choose}
      onKeyDown={(event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          choose();
        }
      }}
    >
      <span class="who">
        <span class={lane} style={{ marginLeft: `${Math.min(depth, 8) * 0.9}rem` }} />
        <StatusBadge status={tool.status} frozen={frozen} />
        <b class="cut">{tool.name ?? t("run.unnamed")}</b>
        <span class="cut muted">{tool.title ?? summarize(tool.input)}</span>
      </span>
      <span class="track" aria-hidden="true">
        <i
          class="wait"
          style={{ left: `${waits[0]}%`, width: `${Math.max(0, waits[1] - waits[0])}%` }}
        />
        {works === undefined ? (
          <i class="end-mark" style={{ left: `${waits[1]}%` }} />
        ) : (
          <i
            class={`work tone-${toneOf(tool.status)} ${isOpen ? "open" : ""}`}
            style={{ left: `${works[0]}%`, width: `${Math.max(0.4, works[1] - works[0])}%` }}
          />
        )}
      </span>
      <span class="right num soft">{took === undefined ? "–" : span(took)}</span>
    </div>
  );
}

/** A short summary of the arguments. */
export function summarize(input: unknown): string {
  if (input === undefined || input === null) return "";
  if (typeof input !== "object") return String(input).slice(0, 120);
  const values = Object.values(input).filter((value) => typeof value !== "object");
  return values
    .map((value) => String(value).slice(0, 120))
    .join(" ")
    .slice(0, 160);
}
