/** The raw session file, line by line. */

import { useSignal } from "@preact/signals";
import { useCallback } from "preact/hooks";

import { fetchJson, path } from "../../data/ask.js";
import type { RecordRow, Sliced } from "../../data/types.js";
import { CopyButton } from "../../parts/button.js";
import { ErrorNote } from "../../parts/frame.js";
import { LongList } from "../../parts/long.js";
import { JsonText } from "../../parts/text.js";
import { route, setQuery } from "../../route.js";
import { bytes, count, t } from "../../words.js";
import { useSlices } from "./slices.js";

/** The most bytes of a line that the server returns. */
const MAX_RECORD_BYTES = 1_000_000;

export function Records({ id }: { id: string }) {
  const line = Math.max(1, Number(route.value.query.get("line") ?? 1) || 1);
  const address = ["console", "sessions", id, "records"];
  const slices = useSlices<RecordRow>(
    id,
    (from, limit, signal) => fetchJson(path(address, { from, limit, bytes: 400 }), { signal }),
    line - 1,
    1,
  );
  const active = useSignal(line - 1);
  const seen = useCallback((from: number, to: number) => slices.setVisible(from, to), [slices]);
  void slices.changes.value;
  const total = slices.total.value;
  return (
    <div class="inspector">
      <section class="panel fill">
        {slices.error.value !== undefined && <ErrorNote error={slices.error.value} />}
        {total !== undefined && (
          <LongList
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
                  onClick={() => setQuery({ line: String(index + 1) })}
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
  const isRequested = useSignal(false);
  if (!isRequested.value) {
    isRequested.value = true;
    void fetchJson<Sliced<RecordRow>>(
      path(address, { from: line, limit: 1, bytes: MAX_RECORD_BYTES }),
    )
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
        {row.value !== undefined && <JsonText text={text} fullSize={row.value.cut} />}
      </div>
    </section>
  );
}
