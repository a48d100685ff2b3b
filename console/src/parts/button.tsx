/** Buttons, and those that want to be pressed twice. */

import { signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";

import { t } from "../words.js";
import { Icon, type IconName } from "./icon.js";

/** How long a first press counts. */
const ARMED = 5_000;

/** Does nothing at the first press but say what the second one will do. */
export function TwiceButton(props: {
  icon: IconName;
  children: ComponentChildren;
  /** What stands on it when it was pressed once. */
  sure: string;
  main?: boolean;
  disabled?: boolean;
  run: () => Promise<void> | void;
}) {
  const { icon, children, sure, main = false, disabled = false, run } = props;
  const armed = useSignal(false);
  const busy = useSignal(false);
  useEffect(() => {
    if (!armed.value) return undefined;
    const timer = setTimeout(() => (armed.value = false), ARMED);
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
      <span aria-live="polite">{armed.value ? sure : children}</span>
    </button>
  );
}

/** What was copied last, for the button that did it. */
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
    const words = typeof text === "string" ? text : await text();
    await navigator.clipboard.writeText(words).catch(() => fallback(words));
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

/** Where the browser does not let us at the clipboard. */
function fallback(words: string): void {
  const area = document.createElement("textarea");
  area.value = words;
  area.className = "unseen";
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
