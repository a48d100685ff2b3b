/** The documentation of a rule: what it finds, why providers reject it, how it is repaired. */

import { Markdown } from "../chat.js";
import { fetchJson, path } from "../data/ask.js";
import { usePoll } from "../data/poll.js";
import type { Rule } from "../data/types.js";
import { Loaded, Page } from "../parts/frame.js";
import { Icon } from "../parts/icon.js";
import { link } from "../route.js";
import { language } from "../settings.js";
import { t } from "../words.js";
import { ruleSummary } from "../words/rules.js";

export function RulePage({ code }: { code: string }) {
  const { known } = usePoll(
    code,
    (signal) => fetchJson<Rule>(path(["console", "rules", code]), { signal }),
    0,
  );
  return (
    <Page
      title={
        known.value.value === undefined
          ? code
          : `${known.value.value.code} ${known.value.value.name}`
      }
      sub={known.value.value && ruleSummary(known.value.value.code, known.value.value.summary)}
      actions={
        <a class="button" href={link(["sessions"], { rule: code })}>
          <Icon name="sessions" />
          {t("rule.sessions")}
        </a>
      }
    >
      <Loaded known={known.value}>
        {({ page }) => (
          <section class="panel page-text" lang="en">
            {language.value === "zh" && <p class="note">{t("rule.english")}</p>}
            <div class="inside prose">
              <Markdown text={withoutTitle(page)} />
            </div>
          </section>
        )}
      </Loaded>
    </Page>
  );
}

/** The page's own title is shown above it. */
function withoutTitle(page: string): string {
  return page.replace(/^\s*# .*\n/, "");
}
