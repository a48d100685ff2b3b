/** Icons. There is always a label beside an icon. */

const PATHS = {
  sessions: "M3 3.5h10v9H3z M3 6.5h10 M6 9.5h4",
  runs: "M3 4h6 M5 8h8 M3 12h5",
  feed: "M3 5h7l-2-2 M13 11H6l2 2",
  compaction: "M8 2v4 M5.5 4 8 6.5 10.5 4 M8 14v-4 M5.5 12 8 9.5l2.5 2.5 M3 8h10",
  metrics: "M3 13V8 M6.5 13V3 M10 13V6 M13.5 13v-3",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9z M10.5 10.5 14 14",
  sun: "M8 10.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5z M8 1.5v1.5 M8 13v1.5 M1.5 8H3 M13 8h1.5 M3.4 3.4l1 1 M11.6 11.6l1 1 M12.6 3.4l-1 1 M4.4 11.6l-1 1",
  moon: "M13 9.5A5.5 5.5 0 0 1 6.5 3a5.5 5.5 0 1 0 6.5 6.5z",
  auto: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12z M8 2v12 M8 5h4.5 M8 8h6 M8 11h4.5",
  globe:
    "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12z M2 8h12 M8 2c2 2 2.5 4 2.5 6S10 12 8 14 M8 2C6 4 5.500 6 5.500 8S6 12 8 14",
  check: "M3 8.500 6.500 12 13 4.500",
  cross: "M4 4l8 8 M12 4l-8 8",
  slash: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12z M4 12l8-8",
  warn: "M8 2.500 14.500 13.500h-13z M8 6.500v3.500 M8 11.800v.1",
  arrow: "M3 8h10 M9 4l4 4-4 4",
  ask: "M5.500 6a2.500 2.500 0 1 1 3.600 2.200C8.300 8.600 8 9 8 10 M8 12.500v.1",
  dot: "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6z",
  ring: "M8 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8z",
  unknown: "M3 8h2 M7 8h2 M11 8h2",
  stop: "M4 4h8v8H4z",
  wrench:
    "M10 2.500a3.500 3.500 0 0 0-3 5L2.500 12 4 13.500 8.500 9a3.500 3.500 0 0 0 5-3.500l-2 2-2-.500-.500-2z",
  undo: "M6 3 3 6l3 3 M3 6h6a4 4 0 0 1 0 8H6",
  copy: "M6 6h7v7H6z M3 10V3h7",
  link: "M6.500 9.500l3-3 M7 5l1.500-1.500a2.500 2.500 0 0 1 4 4L11 9 M9 11l-1.500 1.500a2.500 2.500 0 0 1-4-4L5 7",
  chevron: "M6 4l4 4-4 4",
  down: "M4 6l4 4 4-4",
  up: "M4 10l4-4 4 4",
  start: "M3 7.500 8 3l5 4.500V13H9.500v-3h-3v3H3z",
  chat: "M3 3.500h10v7H8l-3 2.500v-2.500H3z M5.500 6h5 M5.500 8h3",
  send: "M8 13V3 M4 7l4-4 4 4",
  plus: "M8 3v10 M3 8h10",
  back: "M10 4 6 8l4 4",
  recovered: "M13 8a5 5 0 1 1-2-4 M13 2v3h-3",
  answered: "M3 4h10v7H7l-3 2.500V11H3z",
  moved: "M5 3v10 M2.500 5.500 5 3l2.500 2.500 M11 13V3 M8.500 10.500 11 13l2.500-2.500",
  merged: "M4 3v2c0 2 4 2 4 5v3 M12 3v2c0 2-4 2-4 5",
  split: "M8 3v3c0 2-4 2-4 5v2 M8 6c0 2 4 2 4 5v2",
  renamed: "M3 13l1-3.500L11 2.500 13.500 5l-7 7z",
  dropped: "M3 8h10",
  quoted: "M4 10c1.500 0 2-1 2-3V5H3v3h2 M10 10c1.500 0 2-1 2-3V5H9v3h2",
  respelled: "M3 12 6 4l3 8 M4 9.500h4 M11 8l3 4 M14 8l-3 4",
  inserted: "M8 3v10 M3 8h10",
  file: "M4 2h5l3 3v9H4z M9 2v3h3",
  gateway: "M2 8h3 M11 8h3 M5 4h6v8H5z M8 4v8",
  live: "M8 9.500a1.500 1.500 0 1 0 0-3 1.500 1.500 0 0 0 0 3z M4.500 11.500a5 5 0 0 1 0-7 M11.500 4.500a5 5 0 0 1 0 7",
  lock: "M4 7h8v6H4z M6 7V5a2 2 0 0 1 4 0v2",
  plug: "M6 2v3 M10 2v3 M4.500 5h7v3a3.500 3.500 0 0 1-7 0z M8 11.500V14",
  fold: "M3 8h10 M8 2.500v3 M6.500 4 8 5.500 9.500 4 M8 13.500v-3 M6.500 12 8 10.500 9.500 12",
  branch:
    "M4.500 5v6 M4.500 5a1.500 1.500 0 1 0 0-3 1.500 1.500 0 0 0 0 3z M4.500 14a1.500 1.500 0 1 0 0-3 1.500 1.500 0 0 0 0 3z M11.500 7a1.500 1.500 0 1 0 0-3 1.500 1.500 0 0 0 0 3z M11.500 7c0 3-7 1.500-7 4",
  pause: "M6 4v8 M10 4v8",
  user: "M8 8a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5z M3.500 13.500a4.500 4.500 0 0 1 9 0",
  model: "M8 2l1.600 4.400L14 8l-4.400 1.600L8 14l-1.600-4.400L2 8l4.400-1.600z",
  tool: "M3 4.500 6.500 8 3 11.500 M8 12h5",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, class: extra = "" }: { name: IconName; class?: string }) {
  return (
    <svg class={`icon ${extra}`} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}

/** Whether there is an icon of this name. */
export function isIcon(name: string): name is IconName {
  return Object.hasOwn(PATHS, name);
}
