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
  const bars = cut.weights.length <= MAX_EDGES ? edges.slice(1, -1) : [];
  const total = cut.messages.before;
  return (
    <figure class="panel ribbon">
      <svg
        viewBox={`0 0 ${WIDTH} 92`}
        role="img"
        aria-label={t("cut.picture", { n: total, cut: cut.naive.cut, ours: cut.ours.cut ?? 0 })}
      >
        <text x={0} y={10}>
          {t("cut.naive")}
        </text>
        <Row
          y={16}
          ranges={[
            [0, 1],
            [cut.naive.cut, total],
          ]}
          x={x}
          total={total}
        />
        {cut.naive.orphans.slice(0, 60).map(({ call, answer }, at) => {
          const [from, to] = [x(call.message + 0.5), x(answer.message + 0.5)];
          return <path key={at} class="torn" d={`M${from} 36v5H${to}v-5`} />;
        })}
        <path class="cut-line" d={`M${x(cut.naive.cut)} 12v28`} />
        <text x={0} y={58}>
          {t("cut.ours")}
        </text>
        <Row y={64} ranges={cut.ours.kept} x={x} total={total} />
        {cut.ours.changed.slice(0, 500).map(([from, to]) => (
          <rect
            key={`${from} ${to}`}
            class="shorter"
            x={x(from)}
            y={64}
            width={Math.max(1, x(to) - x(from))}
            height={20}
          />
        ))}
        {cut.ours.cut !== null && <path class="cut-line ours" d={`M${x(cut.ours.cut)} 60v28`} />}
        {bars.map((edge, at) => {
          const position = (edge / Math.max(1, totalWeight)) * WIDTH;
          return <path key={at} class="edge" d={`M${position} 16v20M${position} 64v20`} />;
        })}
      </svg>
      <figcaption class="muted">{t("cut.legend", { n: count(total) })}</figcaption>
    </figure>
  );
}

function Row(props: {
  y: number;
  ranges: readonly (readonly [number, number])[];
  x: (message: number) => number;
  total: number;
}) {
  const { y, ranges, x, total } = props;
  return (
    <>
      <rect class="gone" x={0} y={y} width={x(total)} height={20} rx={3} />
      {ranges.slice(0, 500).map(([from, to]) => (
        <rect
          key={`${from} ${to}`}
          class="stays"
          x={x(from)}
          y={y}
          width={Math.max(1, x(to) - x(from))}
          height={20}
          rx={2}
        />
      ))}
    </>
  );
}

function sums(weights: readonly number[]): readonly number[] {
  const all = [0];
  for (const weight of weights) all.push((all[all.length - 1] ?? 0) + weight);
  return all;
}
