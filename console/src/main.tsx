/** Entry point: applies the settings, starts the clock and routing, then renders the app. */

import { render } from "preact";

import { App } from "./app.js";
import { startClock } from "./data/clock.js";
import { askOtherTabs, shareToken } from "./data/token.js";
import { watchAddress } from "./route.js";
import { applySettings } from "./settings.js";

applySettings();
watchAddress();
startClock();
await askOtherTabs();
shareToken();

const root = document.getElementById("app");
if (root !== null) {
  root.replaceChildren();
  root.className = "";
  render(<App />, root);
}
