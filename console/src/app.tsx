/** The frame around every page: navigation, connection state, theme and language. */

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { server } from "./data/ask.js";
import { isLocked, token, unlock } from "./data/token.js";
import { ChatPage } from "./pages/chat.js";
import { CompactionPage } from "./pages/compaction.js";
import { FeedPage } from "./pages/feed.js";
import { MetricsPage } from "./pages/metrics.js";
import { RepairPage } from "./pages/repair.js";
import { RequestPage } from "./pages/request.js";
import { RulePage } from "./pages/rule.js";
import { RunPage } from "./pages/run.js";
import { RunsPage } from "./pages/runs.js";
import { SessionPage } from "./pages/session.js";
import { SessionsPage } from "./pages/sessions.js";
import { SeveralPage } from "./pages/several.js";
import { StartPage } from "./pages/start.js";
import { Announcer } from "./parts/announce.js";
import { Page, useTitle } from "./parts/frame.js";
import { Icon, type IconName } from "./parts/icon.js";
import { Palette, isOpen as isPaletteOpen } from "./parts/palette.js";
import { link, route } from "./route.js";
import { type Theme, setLanguage, language, theme } from "./settings.js";
import { type TextKey, clock, t } from "./words.js";

const NAV: readonly (readonly [TextKey, readonly (readonly [string, IconName, TextKey])[]])[] = [
  [
    "nav.here",
    [
      ["start", "start", "nav.start"],
      ["chat", "chat", "nav.chat"],
    ],
  ],
  [
    "nav.histories",
    [
      ["sessions", "sessions", "nav.sessions"],
      ["compaction", "compaction", "nav.compaction"],
    ],
  ],
  [
    "nav.now",
    [
      ["runs", "runs", "nav.runs"],
      ["feed", "feed", "nav.feed"],
      ["metrics", "metrics", "nav.metrics"],
    ],
  ],
];

export function App() {
  const main = useRef<HTMLElement>(null);
  const { path } = route.value;
  const address = path.join("/");
  const first = useRef(true);
  useEffect(() => {
    // Navigation moves the focus to the new page; the first load does not.
    if (first.current) first.current = false;
    else main.current?.focus({ preventScroll: true });
  }, [address]);
  return (
    <div class="shell">
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          main.current?.focus();
        }}
      >
        {t("skip")}
      </a>
      <Rail page={path[0] ?? "start"} />
      <main class="main" id="main" tabIndex={-1} ref={main}>
        {isLocked.value ? <Locked /> : <Current path={path} />}
      </main>
      {isPaletteOpen.value && <Palette />}
      <Announcer />
    </div>
  );
}

function Current({ path }: { path: readonly string[] }) {
  const [page = "start", id, part] = path;
  switch (page) {
    case "start":
      return <StartPage />;
    case "chat":
      return <ChatPage />;
    case "repair":
      return <SeveralPage />;
    case "sessions":
      if (id === undefined) return <SessionsPage />;
      if (part === "repair") return <RepairPage key={id} id={id} />;
      return <SessionPage key={id} id={id} />;
    case "runs":
      return id === undefined ? <RunsPage /> : <RunPage key={id} id={id} />;
    case "feed":
      return id === undefined ? <FeedPage /> : <RequestPage key={id} id={id} />;
    case "compaction":
      return <CompactionPage />;
    case "metrics":
      return <MetricsPage />;
    case "rules":
      return <RulePage key={id} code={id ?? ""} />;
    default:
      return (
        <Page title={t("page.notfound")}>
          <p>
            <a class="button" href={link(["start"])}>
              <Icon name="start" />
              {t("nav.start")}
            </a>
          </p>
        </Page>
      );
  }
}

function Rail({ page }: { page: string }) {
  return (
    <header class="rail">
      <a class="brand" href={link(["start"])}>
        <img src="/ui/icon.svg" alt="" width={22} height={22} />
        <span>Foxwedge</span>
      </a>
      <button type="button" class="button find" onClick={() => (isPaletteOpen.value = true)}>
        <Icon name="search" />
        <span>{t("palette.open")}</span>
        <kbd>{/Mac|iP/.test(navigator.platform) ? "⌘K" : "Ctrl K"}</kbd>
      </button>
      <nav aria-label={t("nav")}>
        {NAV.map(([group, links]) => (
          <div key={group} class="links">
            <div class="group">{t(group)}</div>
            {links.map(([to, icon, key]) => (
              <a key={to} href={link([to])} aria-current={page === to ? "page" : undefined}>
                <Icon name={icon} />
                <span>{t(key)}</span>
              </a>
            ))}
          </div>
        ))}
      </nav>
      <div class="foot">
        <Server />
        <div class="pair">
          <ThemeButton />
          <button
            type="button"
            class="button small quiet"
            lang={language.value === "zh" ? "en" : "zh-CN"}
            onClick={() => setLanguage(language.value === "zh" ? "en" : "zh")}
          >
            <Icon name="globe" />
            {language.value === "zh" ? "English" : "中文"}
          </button>
        </div>
      </div>
    </header>
  );
}

/** Whether the server responds. */
function Server() {
  const state = server.value;
  if (isLocked.value && state.type !== "down") {
    return (
      <span class="server muted" role="status">
        <Icon name="lock" />
        {t("server.locked")}
      </span>
    );
  }
  switch (state.type) {
    case "unknown":
      return (
        <span class="server muted">
          <Icon name="ring" />
          {t("server.unknown")}
        </span>
      );
    case "up":
      return (
        <span class="server up" role="status">
          <Icon name="plug" />
          {t("server.up")}
        </span>
      );
    case "down":
      return (
        <span class="server down" role="status">
          <Icon name="warn" />
          {t("server.down", { at: clock(state.since) })}
        </span>
      );
  }
}

const THEMES: readonly Theme[] = ["system", "light", "dark"];
const THEME_ICONS: Readonly<Record<Theme, IconName>> = {
  system: "auto",
  light: "sun",
  dark: "moon",
};
const THEME_KEYS: Readonly<Record<Theme, TextKey>> = {
  system: "theme.system",
  light: "theme.light",
  dark: "theme.dark",
};

function ThemeButton() {
  const next = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? "system";
  return (
    <button
      type="button"
      class="button small quiet"
      title={t("theme.change", { theme: t(THEME_KEYS[next]) })}
      onClick={() => (theme.value = next)}
    >
      <Icon name={THEME_ICONS[theme.value]} />
      {t(THEME_KEYS[theme.value])}
    </button>
  );
}

function Locked() {
  const typed = useSignal("");
  useTitle(t("locked.title"));
  return (
    <div class="empty locked">
      <Icon name="lock" />
      <h1>{token.value === "" ? t("locked.none") : t("locked.wrong")}</h1>
      <p>{t("locked.how")}</p>
      <p class="muted">
        {t("locked.file")} <code>~/.config/foxwedge/token</code>
      </p>
      <form
        class="bar"
        onSubmit={(event) => {
          event.preventDefault();
          unlock(typed.value);
        }}
      >
        <input
          class="field"
          type="password"
          autocomplete="off"
          aria-label={t("locked.token")}
          placeholder={t("locked.token")}
          value={typed.value}
          onInput={(event) => (typed.value = event.currentTarget.value)}
        />
        <button type="submit" class="button main-one">
          {t("locked.open")}
        </button>
      </form>
    </div>
  );
}
