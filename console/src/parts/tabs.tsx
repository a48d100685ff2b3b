/** Tabs. The arrow keys select one. */

import type { ComponentChildren } from "preact";

export interface Tab {
  readonly id: string;
  readonly label: string;
  readonly count?: number | undefined;
}

export function Tabs(props: {
  label: string;
  tabs: readonly Tab[];
  chosen: string;
  choose: (id: string) => void;
}) {
  const { label, tabs, chosen, choose } = props;
  const press = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const at = tabs.findIndex(({ id }) => id === chosen);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    if (next === undefined) return;
    event.preventDefault();
    choose(next.id);
    requestAnimationFrame(() => document.getElementById(`tab-${next.id}`)?.focus());
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} onKeyDown={press}>
      {tabs.map(({ id, label, count }) => (
        <button
          key={id}
          id={`tab-${id}`}
          type="button"
          role="tab"
          aria-selected={id === chosen}
          aria-controls={`panel-${id}`}
          tabIndex={id === chosen ? 0 : -1}
          onClick={() => choose(id)}
        >
          {label}
          {count !== undefined && <span class="count">{count}</span>}
        </button>
      ))}
    </div>
  );
}

/** The content of a tab. */
export function TabPanel(props: { id: string; class?: string; children: ComponentChildren }) {
  return (
    <div
      id={`panel-${props.id}`}
      role="tabpanel"
      aria-labelledby={`tab-${props.id}`}
      class={props.class}
    >
      {props.children}
    </div>
  );
}
