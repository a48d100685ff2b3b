/** The file as it is, line by line. */

import { useSignal } from "@preact/signals";
import { useCallback } from "preact/hooks";

import { ask, path } from "../../data/ask.js";
import type { RecordRow, Sliced } from "../../data/types.js";
import { CopyButton } from "../../parts/button.js";
import { Trouble } from "../../parts/frame.js";
import { Long } from "../../parts/long.js";
import { JsonText } from "../../parts/text.js";
import { place, refine } from "../../route.js";
import { bytes, count, t } from "../../words.js";
import { useSlices } from "./slices.js";

/** The most of a line that the server tells. */
const WHOLE = 1_000_000;

export function Records({ id }: { id: string }) {
  const line = Math.max(1, Number(place.value.query.get("line") ?? 1) || 1);
  const address = ["console", "sessions", id, "records"];
  const slices = useSlices<RecordRow>(
    id,
    (from, limit, signal) => ask(path(address, { from, limit, bytes: 400 }), { signal }),
    line - 1,
    1,
  );
  const active = useSignal(line - 1);
  const seen = useCallback((from: number, to: number) => slices.want(from, to), [slices]);
  void slices.changes.value;
  const total = slices.total.value;
  return (
    <div class="inspector">
      <section class="panel fill">
        {slices.error.value !== undefined && <Trouble error={slices.error.value} />}
        {total !== undefined && (
          <Long
            label={t("session.raw")}
            count={total}
            height={1.625}
            active={active}
            onSeen={seen}
            row={(index) => {
              const row = slices.row(index);
              return (
                <button
                  type="button"
                  class={`row record-grid ${index === line - 1 ? "chosen" : ""}`}
                  data-stop
                  tabIndex={index === active.value ? 0 : -1}
                  onClick={() => refine({ line: String(index + 1) })}
                >
                  <span class="muted num right">{count(index + 1)}</span>
                  <span class="cut mono">{row?.text.slice(0, 300) ?? "…"}</span>
                  <span class="muted num right">{row === undefined ? "" : bytes(row.bytes)}</span>
                </button>
              );
            }}
          />
        )}
      </section>
      <OneRecord key={line} address={address} line={line} />
    </div>
  );
}

function OneRecord({ address, line }: { address: readonly string[]; line: number }) {
  const row = useSignal<RecordRow | undefined>(undefined);
  const asked = useSignal(false);
  if (!asked.value) {
    asked.value = true;
    void ask<Sliced<RecordRow>>(path(address, { from: line, limit: 1, bytes: WHOLE }))
      .then(({ data }) => (row.value = data[0]))
      .catch(() => undefined);
  }
  const text = row.value?.text ?? "";
  return (
    <section class="panel fill" aria-label={t("session.record")}>
      <header>
        <h2>{t("message.line", { n: line })}</h2>
        <span class="end">
          <CopyButton text={text} label={t("copy")} />
        </span>
      </header>
      <div class="inside scroll">
        {row.value !== undefined && <JsonText text={text} whole={row.value.cut} />}
      </div>
    </section>
  );
}
