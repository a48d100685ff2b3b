/**
 * The token for the server. `boot.js` removes it from the address before the page loads.
 *
 * A link never replaces a working token: its token is used only if there is none yet, or if the
 * server rejects the current one.
 */

import { signal } from "@preact/signals";

const NAME = "foxwedge.token";
const OFFERED = "foxwedge.offered";

/** The current token; empty if there is none. */
export const token = signal(storedToken());

/** Whether the server rejected the current token. */
export const isLocked = signal(false);

/** A token from a link that was opened while there was a token already. */
let offered = takeOfferedToken();

/** Takes the token of a link. */
export function offerToken(newToken: string): void {
  if (newToken === "" || newToken === token.peek()) return;
  if (token.peek() === "" || isLocked.peek()) unlock(newToken);
  else offered = newToken;
}

/** Records that the server accepted the current token. */
export function markAccepted(): void {
  offered = "";
}

/** Records that the server rejected the current token. */
export function markRejected(): void {
  isLocked.value = true;
  if (offered === "") return;
  const next = offered;
  offered = "";
  // The page renders as locked first, then starts again with the other token.
  setTimeout(() => unlock(next), 0);
}

/** Sets and stores the token. */
export function unlock(newToken: string): void {
  token.value = newToken.trim();
  isLocked.value = false;
  try {
    sessionStorage.setItem(NAME, token.value);
  } catch {
    // Storage is forbidden: the token lasts until the page is closed.
  }
}

/** Messages between the tabs of this page. The browser delivers them within one origin only. */
type TabMessage = { readonly type: "ask" } | { readonly type: "token"; readonly token: string };

/** Hands a working token to new tabs that ask for one, for as long as this tab is open. */
export function shareToken(channel: BroadcastChannel | undefined = openChannel()): void {
  channel?.addEventListener("message", ({ data }: MessageEvent<TabMessage>) => {
    if (data.type === "ask" && token.peek() !== "" && !isLocked.peek()) {
      channel.postMessage({ type: "token", token: token.peek() });
    }
  });
}

/** Asks the other tabs for a token if this one has none. Resolves when one arrives or none does. */
export async function askOtherTabs(
  channel: BroadcastChannel | undefined = openChannel(),
  patience = 150,
): Promise<void> {
  if (token.peek() === "" && channel !== undefined) {
    await new Promise<void>((done) => {
      channel.addEventListener("message", ({ data }: MessageEvent<TabMessage>) => {
        if (data.type !== "token" || typeof data.token !== "string") return;
        if (token.peek() === "") unlock(data.token);
        done();
      });
      channel.postMessage({ type: "ask" });
      setTimeout(done, patience);
    });
  }
  channel?.close();
}

function openChannel(): BroadcastChannel | undefined {
  return typeof BroadcastChannel === "undefined" ? undefined : new BroadcastChannel(NAME);
}

/** The authorization header of every request. */
export function headers(): Record<string, string> {
  return token.peek() === "" ? {} : { authorization: `Bearer ${token.peek()}` };
}

function takeOfferedToken(): string {
  try {
    const newToken = sessionStorage.getItem(OFFERED) ?? "";
    sessionStorage.removeItem(OFFERED);
    return newToken;
  } catch {
    return "";
  }
}

function storedToken(): string {
  try {
    return sessionStorage.getItem(NAME) ?? "";
  } catch {
    return "";
  }
}
