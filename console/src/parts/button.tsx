/** Buttons, and buttons that need a second press to confirm. */

import { signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";

import { t } from "../words.js";
import { Icon, type IconName } from "./icon.js";

/** How long the first press stays valid. */
const ARMED_MS = 5_000;

/** The first press only shows what the second one will do. */
export function ConfirmButton(props: {
  icon: IconName;
  children: ComponentChildren;
  /** The label after the first press. */
  confirmLabel: string;
  main?: boolean;
  disabled?: boolean;
  run: () => Promise<void> | void;
}) {
  const { icon, children, confirmLabel, main = false, disabled = false, run } = props;
  const armed = useSignal(false);
  const busy = useSignal(false);
  useEffect(() => {
    if (!armed.value) return undefined;
    const timer = setTimeout(() => (armed.value = false), ARMED_MS);
    return () => clearTimeout(timer);
  }, [armed.value]);
  const press = async () => {
    if (!armed.value) {
      armed.value = true;
      return;
    }
    armed.value = false;
    busy.value = true;
    try {
      await run();
    } finally {
      busy.value = false;
    }
  };
  const kind = armed.value ? "armed" : main ? "main-one" : "danger";
  return (
    <button
      type="button"
      class={`button ${kind}`}
      disabled={disabled || busy.value}
      onClick={() => void press()}
      onBlur={() => (armed.value = false)}
      onKeyDown={(event) => {
        if (event.key === "Escape") armed.value = false;
      }}
    >
      <Icon name={armed.value ? "warn" : icon} />
      <span aria-live="polite">{armed.value ? confirmLabel : children}</span>
    </button>
  );
}

/** The mark of the button that copied last. */
const copied = signal("");

export function CopyButton(props: {
  text: string | (() => Promise<string> | string);
  label: string;
  small?: boolean;
}) {
  const { text, label, small = true } = props;
  const mark = useSignal(`${Math.random()}`);
  const done = copied.value === mark.value;
  const copy = async () => {
    const value = typeof text === "string" ? text : await text();
    await navigator.clipboard.writeText(value).catch(() => copyWithTextarea(value));
    copied.value = mark.value;
    setTimeout(() => {
      if (copied.peek() === mark.peek()) copied.value = "";
    }, 2_000);
  };
  return (
    <button
      type="button"
      class={`button ${small ? "small quiet" : ""}`}
      onClick={() => void copy()}
    >
      <Icon name={done ? "check" : "copy"} />
      <span aria-live="polite">{done ? t("copied") : label}</span>
    </button>
  );
}

/** A command to run in a terminal, with a button that copies it. */
export function CommandLine({ label, command }: { label: string; command: string }) {
  return (
    <span class="command">
      <span class="soft">{label}</span>
      <code>{command}</code>
      <CopyButton text={command} label={t("copy")} />
    </span>
  );
}

/** Copies without the clipboard API, for browsers that forbid it. */
function copyWithTextarea(value: string): void {
  const area = document.createElement("textarea");
  area.value = value;
  area.className = "unseen";
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
