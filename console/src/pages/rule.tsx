/** The documentation of a rule: what it finds, why providers reject it, how it is repaired. */

import { Markdown } from "../chat.js";
import { fetchJson, path } from "../data/ask.js";
import { usePoll } from "../data/poll.js";
import type { Rule } from "../data/types.js";
import { Loaded, Page } from "../parts/frame.js";
import { Icon } from "../parts/icon.js";
import { link } from "../route.js";
import { t } from "../words.js";

export function RulePage({ code }: { code: string }) {
  const { known } = usePoll(
    code,
    (signal) => fetchJson<Rule>(path(["console", "rules", code]), { signal }),
    0,
  );
  const rule = known.value.value;
  return (
    <Page
      title={rule === undefined ? code : `${rule.code} ${rule.name}`}
      sub={rule?.summary}
      actions={
        <a class="button" href={link(["sessions"], { rule: code })}>
          <Icon name="sessions" />
          {t("rule.sessions")}
        </a>
      }
    >
      <Loaded known={known.value}>
        {({ page }) => (
          <section class="panel page-text">
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
