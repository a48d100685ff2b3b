/** The documentation of a rule: what it finds, why providers reject it, how it is repaired. */

import { fetchJson, path } from "../data/ask.js";
import { usePoll } from "../data/poll.js";
import type { Rule } from "../data/types.js";
import { Loaded, Page } from "../parts/frame.js";
import { Icon } from "../parts/icon.js";
import { type Block, blocks, spans } from "../parts/markdown.js";
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
              {withoutTitle(blocks(page)).map((block, at) => (
                <BlockView key={at} block={block} />
              ))}
            </div>
          </section>
        )}
      </Loaded>
    </Page>
  );
}

/** The page's own title is shown above it. */
function withoutTitle(all: readonly Block[]): readonly Block[] {
  return all[0]?.type === "head" && all[0].level === 1 ? all.slice(1) : all;
}

function BlockView({ block }: { block: Block }) {
  switch (block.type) {
    case "head":
      return block.level < 3 ? <h2>{block.text}</h2> : <h3>{block.text}</h3>;
    case "code":
      return <pre class="code">{block.text}</pre>;
    case "list":
      return (
        <ul>
          {block.items.map((item, at) => (
            <li key={at}>
              <Inline text={item} />
            </li>
          ))}
        </ul>
      );
    case "table":
      return (
        <table class="table">
          <thead>
            <tr>
              {block.head.map((cell, at) => (
                <th key={at}>
                  <Inline text={cell} />
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {block.rows.map((row, at) => (
              <tr key={at}>
                {row.map((cell, at) => (
                  <td key={at}>
                    <Inline text={cell} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      );
    case "text":
      return (
        <p>
          <Inline text={block.text} />
        </p>
      );
  }
}

function Inline({ text }: { text: string }) {
  return (
    <>
      {spans(text).map(({ kind, text }, at) => {
        if (kind === "code") return <code key={at}>{text}</code>;
        if (kind === "bold") return <b key={at}>{text}</b>;
        return <span key={at}>{text}</span>;
      })}
    </>
  );
}
