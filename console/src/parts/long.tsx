/**
 * A virtual list: only the visible rows are in the page. Rows may have any height; they are
 * measured when they are rendered. Tab reaches one row, the arrow keys move between rows.
 */

import { type Signal, useSignal } from "@preact/signals";
import type { ComponentChild, TargetedKeyboardEvent } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";

import { Heights } from "./heights.js";

export interface LongListProps {
  /** The label for screen readers. */
  label: string;
  count: number;
  /** The height of a row in rem; with `measured`, only the first estimate. */
  height: number;
  measured?: boolean;
  /** The row that has the focus, or gets it with Tab. */
  active: Signal<number>;
  /** Renders a row. The element that takes the focus has `data-stop`. */
  row: (index: number) => ComponentChild;
  role?: "list" | "tree" | "log";
  /** Called when the range of visible rows changes. */
  onSeen?: (from: number, to: number) => void;
  /** Stays scrolled to the end while the list grows. */
  stick?: boolean;
  /** The left and right arrow keys, for trees. */
  onSide?: (index: number, side: "left" | "right") => void;
  class?: string;
}

/** Extra rows that are rendered beyond each edge. */
const MARGIN = 6;

export function LongList(props: LongListProps) {
  const { label, count, height, measured = false, active, row, onSeen, stick = false } = props;
  const { role = "list" } = props;
  const box = useRef<HTMLDivElement>(null);
  const rem = useMemo(() => parseFloat(getComputedStyle(document.documentElement).fontSize), []);
  const heights = useMemo(() => new Heights(height * rem), [height, rem]);
  const top = useSignal(0);
  const room = useSignal(600);
  const drawn = useSignal(0);
  const atEnd = useRef(true);
  heights.resize(count);

  const first = Math.max(0, heights.at(top.value) - MARGIN);
  const last = Math.min(count, heights.at(top.value + room.value) + 1 + MARGIN);
  void drawn.value;

  useEffect(() => onSeen?.(first, last), [first, last, onSeen]);

  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const watch = new ResizeObserver(() => {
      room.value = element.clientHeight;
    });
    watch.observe(element);
    room.value = element.clientHeight;
    return () => watch.disconnect();
  }, []);

  // Rows that are unfolded or folded change their height without a new rendering.
  const rowWatch = useMemo(
    () =>
      new ResizeObserver((changes) => {
        const isNew = ({ target }: ResizeObserverEntry) => {
          const { dataset, offsetHeight } = target as HTMLElement;
          return target.isConnected && !heights.isKnown(Number(dataset.index), offsetHeight);
        };
        if (changes.some(isNew)) drawn.value += 1;
      }),
    [heights],
  );
  useEffect(() => () => rowWatch.disconnect(), [rowWatch]);

  useLayoutEffect(() => {
    if (!measured || box.current === null) return;
    const element = box.current;
    let shift = 0;
    let changed = false;
    for (const slot of element.querySelectorAll<HTMLElement>(":scope > .room > .slot")) {
      const index = Number(slot.dataset.index);
      rowWatch.observe(slot);
      const difference = heights.set(index, slot.offsetHeight);
      if (difference === 0) continue;
      changed = true;
      // Rows above must not move the visible ones.
      if (heights.top(index) + slot.offsetHeight <= element.scrollTop) shift += difference;
    }
    if (!changed) return;
    if (shift !== 0) element.scrollTop += shift;
    drawn.value += 1;
  });

  useLayoutEffect(() => {
    const element = box.current;
    if (stick && atEnd.current && element !== null) element.scrollTop = element.scrollHeight;
  }, [count, drawn.value, stick]);

  // Shows the row that the address names.
  useEffect(() => {
    if (active.peek() > 0) show(active.peek());
  }, []);

  const show = (index: number) => {
    const element = box.current;
    if (element === null) return;
    const [start, end] = [heights.top(index), heights.top(index + 1)];
    if (start < element.scrollTop) element.scrollTop = start;
    else if (end > element.scrollTop + element.clientHeight) {
      element.scrollTop = Math.min(start, end - element.clientHeight);
    }
    top.value = element.scrollTop;
  };

  const focus = (index: number) => {
    active.value = Math.max(0, Math.min(count - 1, index));
    show(active.value);
    requestAnimationFrame(() => {
      const slot = box.current?.querySelector(`:scope > .room > [data-index="${active.value}"]`);
      slot?.querySelector<HTMLElement>("[data-stop]")?.focus({ preventScroll: true });
    });
  };

  const press = (event: TargetedKeyboardEvent<HTMLDivElement>) => {
    const target = event.target as HTMLElement;
    if (!target.hasAttribute("data-stop") || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(room.value / (height * rem)) - 1);
    const steps: Record<string, number | undefined> = {
      ArrowDown: active.value + 1,
      ArrowUp: active.value - 1,
      PageDown: active.value + page,
      PageUp: active.value - page,
      Home: 0,
      End: count - 1,
    };
    const next = steps[event.key];
    if (next !== undefined) {
      event.preventDefault();
      focus(next);
    } else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      props.onSide?.(active.value, event.key === "ArrowLeft" ? "left" : "right");
    }
  };

  const rows: number[] = [];
  for (let index = first; index < last; index += 1) rows.push(index);
  // The row with the focus stays rendered wherever the list is scrolled to.
  const { value } = active;
  if (value < count && (value < first || value >= last)) rows.push(value);

  return (
    <div
      ref={box}
      class={`long ${props.class ?? ""}`}
      onKeyDown={press}
      onFocusIn={(event) => {
        const slot = (event.target as HTMLElement).closest<HTMLElement>("[data-index]");
        if (slot !== null && slot.parentElement?.parentElement === box.current) {
          active.value = Number(slot.dataset.index);
        }
      }}
      onScroll={(event) => {
        const { scrollTop, scrollHeight, clientHeight } = event.currentTarget;
        atEnd.current = scrollTop + clientHeight >= scrollHeight - 24;
        top.value = scrollTop;
      }}
    >
      <div class="room" role={role} aria-label={label} style={{ height: `${heights.total()}px` }}>
        {rows.map((index) => (
          <div
            key={index}
            class="slot"
            data-index={index}
            role={role === "list" ? "listitem" : "none"}
            aria-setsize={role === "list" ? count : undefined}
            aria-posinset={role === "list" ? index + 1 : undefined}
            style={{ transform: `translateY(${heights.top(index)}px)` }}
          >
            {row(index)}
          </div>
        ))}
      </div>
    </div>
  );
}
