/** A history as a ribbon scaled by tokens: removed and kept messages, and separated pairs. */

import type { Cut } from "../../data/types.js";
import { count, t } from "../../words.js";

const WIDTH = 1_000;
/** With more messages than this, their edges are not drawn. */
const MAX_EDGES = 400;

export function Ribbon({ cut }: { cut: Cut }) {
  const step = cut.weights_step ?? 1;
  const edges = sums(cut.weights);
  const totalWeight = edges[edges.length - 1] ?? 1;
  const x = (message: number) => {
    const at = Math.min(cut.weights.length, message / step);
    const low = edges[Math.floor(at)] ?? totalWeight;
    const high = edges[Math.ceil(at)] ?? totalWeight;
    return ((low + (high - low) * (at - Math.floor(at))) / Math.max(1, totalWeight)) * WIDTH;
  };
  const inner = cut.weights.length <= MAX_EDGES ? edges.slice(1, -1) : [];
  const bars = inner.map((edge) => (edge / Math.max(1, totalWeight)) * WIDTH);
  const total = cut.messages.before;
  return (
    <figure class="panel ribbon">
      <span aria-hidden="true">{t("cut.naive")}</span>
      <svg
        viewBox={`0 0 ${WIDTH} 32`}
        preserveAspectRatio="none"
        role="img"
        aria-label={t("cut.picture", { n: total, cut: cut.naive.cut, ours: cut.ours.cut ?? 0 })}
      >
        <Row
          ranges={[
            [0, 1],
            [cut.naive.cut, total],
          ]}
          x={x}
          total={total}
        />
        {cut.naive.orphans.slice(0, 60).map(({ call, answer }, at) => {
          const [from, to] = [x(call.message + 0.5), x(answer.message + 0.5)];
          return <path key={at} class="torn" d={`M${from} 24v5H${to}v-5`} />;
        })}
        <path class="cut-line" d={`M${x(cut.naive.cut)} 0v28`} />
        <Edges bars={bars} />
      </svg>
      <span aria-hidden="true">{t("cut.ours")}</span>
      <svg viewBox={`0 0 ${WIDTH} 32`} preserveAspectRatio="none" aria-hidden="true">
        <Row ranges={cut.ours.kept} x={x} total={total} />
        {cut.ours.changed.slice(0, 500).map(([from, to]) => (
          <Bar key={`${from} ${to}`} kind="shorter" from={x(from)} to={x(to)} />
        ))}
        {cut.ours.cut !== null && <path class="cut-line ours" d={`M${x(cut.ours.cut)} 0v28`} />}
        <Edges bars={bars} />
      </svg>
      <figcaption class="muted">{t("cut.legend", { n: count(total) })}</figcaption>
    </figure>
  );
}

function Row(props: {
  ranges: readonly (readonly [number, number])[];
  x: (message: number) => number;
  total: number;
}) {
  const { ranges, x, total } = props;
  return (
    <>
      <Bar kind="gone" from={0} to={x(total)} />
      {ranges.slice(0, 500).map(([from, to]) => (
        <Bar key={`${from} ${to}`} kind="stays" from={x(from)} to={x(to)} />
      ))}
    </>
  );
}

function Bar({ kind, from, to }: { kind: string; from: number; to: number }) {
  return <rect class={kind} x={from} y={4} width={Math.max(1, to - from)} height={20} />;
}

function Edges({ bars }: { bars: readonly number[] }) {
  return <path class="edge" d={bars.map((x) => `M${x} 4v20`).join("")} />;
}

function sums(weights: readonly number[]): readonly number[] {
  const all = [0];
  for (const weight of weights) all.push((all[all.length - 1] ?? 0) + weight);
  return all;
}
