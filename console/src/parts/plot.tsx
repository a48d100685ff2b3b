/** A small plot, with its numbers in an accessible table. */

import { useSignal } from "@preact/signals";

import { clock, t } from "../words.js";

export interface Trace {
  readonly name: string;
  /** One value per time; `NaN` where nothing was measured. */
  readonly values: readonly number[];
  /** Its color, if it has a meaning. */
  readonly hue?: string | undefined;
}

const [WIDTH, HEIGHT, LEFT, BOTTOM] = [520, 150, 44, 18];

export function Plot(props: {
  title: string;
  kind: "bars" | "lines";
  times: readonly number[];
  traces: readonly Trace[];
  unit: (value: number) => string;
}) {
  const { title, kind, times, traces, unit } = props;
  const table = useSignal(false);
  const top = axisTop(
    kind === "bars"
      ? highest(stacked(traces, times.length))
      : highest(traces.flatMap(({ values }) => values)),
  );
  const y = (value: number) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - BOTTOM - 8);
  const x = (at: number) => LEFT + (at / Math.max(1, times.length)) * (WIDTH - LEFT);
  const width = (WIDTH - LEFT) / Math.max(1, times.length);
  const isEmpty = traces.every(({ values }) => values.every((value) => !(value > 0)));
  return (
    <section class="panel plot" aria-label={title}>
      <header>
        <h2>{title}</h2>
        <button
          type="button"
          class="button small quiet end"
          aria-expanded={table.value}
          onClick={() => (table.value = !table.value)}
        >
          {table.value ? t("plot.picture") : t("plot.table")}
        </button>
      </header>
      {table.value ? (
        <Numbers times={times} traces={traces} unit={unit} title={title} />
      ) : (
        <div class="inside">
          <svg
            viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
            role="img"
            aria-label={t("plot.about", { title })}
          >
            {[0, 0.5, 1].map((part) => (
              <g key={part}>
                <path class="grid" d={`M${LEFT} ${y(top * part)}H${WIDTH}`} />
                <text x={LEFT - 6} y={y(top * part) + 4} class="end">
                  {unit(top * part)}
                </text>
              </g>
            ))}
            {[0, 0.5, 1].map((part) => {
              const at = Math.min(times.length - 1, Math.floor(part * times.length));
              const anchor = part === 0 ? "start" : part === 1 ? "end" : "middle";
              return (
                <text key={part} x={LEFT + part * (WIDTH - LEFT)} y={HEIGHT - 3} class={anchor}>
                  {clock(times[at] ?? 0).replace(/:\d\d$/, "")}
                </text>
              );
            })}
            {kind === "bars"
              ? bars(traces, times.length, top).map(({ at, trace, low, high }) => (
                  <rect
                    key={`${at} ${trace}`}
                    class={hueOf(traces, trace)}
                    x={x(at) + width * 0.1}
                    width={Math.max(1, width * 0.8)}
                    y={y(high)}
                    height={Math.max(0, y(low) - y(high))}
                  />
                ))
              : traces.map(({ name, values }, trace) => (
                  <path
                    key={name}
                    class={`line ${hueOf(traces, trace)}`}
                    d={line(values, (at) => x(at) + width / 2, y)}
                  />
                ))}
          </svg>
          {isEmpty && <p class="muted">{t("plot.empty")}</p>}
          <ul class="legend">
            {traces.map(({ name }, trace) => (
              <li key={name}>
                <i class={hueOf(traces, trace)} />
                {name}
              </li>
            ))}
          </ul>
        </div>
      )}
    </section>
  );
}

function hueOf(traces: readonly Trace[], at: number): string {
  return `hue-${traces[at]?.hue ?? at}`;
}

function Numbers(props: {
  title: string;
  times: readonly number[];
  traces: readonly Trace[];
  unit: (value: number) => string;
}) {
  const { times, traces, unit } = props;
  const rows = times
    .map((at, index) => ({ at, values: traces.map(({ values }) => values[index] ?? Number.NaN) }))
    .filter(({ values }) => values.some((value) => value > 0))
    .reverse();
  return (
    <div class="numbers scroll" tabIndex={0} role="region" aria-label={props.title}>
      <table class="table">
        <thead>
          <tr>
            <th>{t("plot.time")}</th>
            {traces.map(({ name }) => (
              <th key={name} class="num">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ at, values }) => (
            <tr key={at}>
              <td class="num left">{clock(at)}</td>
              {values.map((value, index) => (
                <td key={index} class="num">
                  {Number.isNaN(value) ? "–" : unit(value)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The top of an axis: a round number, at least the highest value. */
export function axisTop(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const factor = [1, 2, 4, 5, 10].find((one) => one * power >= value) ?? 10;
  return Math.max(factor * power, 1);
}

function highest(values: readonly number[]): number {
  let max = 0;
  for (const value of values) if (value > max) max = value;
  return max;
}

function stacked(traces: readonly Trace[], length: number): readonly number[] {
  return Array.from({ length }, (_, at) =>
    traces.reduce((sum, { values }) => sum + (values[at] ?? 0), 0),
  );
}

function bars(traces: readonly Trace[], length: number, top: number) {
  const all: { at: number; trace: number; low: number; high: number }[] = [];
  for (let at = 0; at < length; at += 1) {
    let low = 0;
    traces.forEach(({ values }, trace) => {
      const high = low + (values[at] ?? 0);
      if (high > low) all.push({ at, trace, low, high: Math.min(high, top) });
      low = high;
    });
  }
  return all;
}

/** A path through the values, with gaps where nothing was measured. */
function line(
  values: readonly number[],
  x: (at: number) => number,
  y: (value: number) => number,
): string {
  let path = "";
  let before = false;
  values.forEach((value, at) => {
    if (Number.isNaN(value)) before = false;
    else {
      const place = `${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
      path += before ? `L${place}` : `M${place}h0.1`;
      before = true;
    }
  });
  return path;
}
