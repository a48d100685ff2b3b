import assert from "node:assert/strict";
import { test } from "node:test";

import { type ComponentChildren, Fragment, h, isValidElement } from "preact";

import { Markdown } from "../src/chat.js";

test("Markdown becomes elements", () => {
  const table: readonly (readonly [string, string])[] = [
    ["# A\n\n### B", "<h3>A</h3><h4>B</h4>"],
    ["One `code` and\n**bold**, *soft*.", "<p>One <code>code</code> and\n<b>bold</b>, <em>soft</em>.</p>"],
    ["- x\n  y\n- z", "<ul><li>x\ny</li><li>z</li></ul>"],
    ["3. x\n4. y", "<ol start=3><li>x</li><li>y</li></ol>"],
    ["- [x] done\n- [ ] open", "<ul><li>☑ done</li><li>☐ open</li></ul>"],
    ["| a | b |\n|---|---|\n| 1 | `2` |", "<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td><code>2</code></td></tr></tbody></table>"],
    ["```json\n<b>\n```", "<pre><code>&lt;b></code></pre>"],
    ["> said", "<blockquote><p>said</p></blockquote>"],
    ["a & b &amp; <c", "<p>a & b &amp; &lt;c</p>"],
  ];
  for (const [text, expected] of table) assert.equal(drawn(text), expected, text);
});

test("a reply that is still streamed is shown as far as it is", () => {
  assert.equal(drawn("```rust\nfn main("), "<pre><code>fn main(</code></pre>");
  assert.equal(drawn("some **bo"), "<p>some **bo</p>");
});

test("nothing of a reply runs or loads anything", () => {
  assert.equal(drawn("<img src=x onerror=alert(1)>"), "<p>&lt;img src=x onerror=alert(1)></p>");
  assert.equal(drawn("a <script>b</script>"), "<p>a &lt;script>b&lt;/script></p>");
  assert.equal(drawn("![look](https://a.example/b.png)"), "<p>look</p>");
  assert.equal(drawn("[a](javascript:alert(1)) [b](/ui) [c](data:text/html,x)"), "<p>a b c</p>");
  assert.equal(drawn("[a](https://a.example)"), "<p><a href=https://a.example>a</a></p>");
});

/** The elements of a text, without those that only carry styles. */
function drawn(text: string): string {
  return html(h(Markdown, { text })).replace(/<\/?div>/g, "");
}

function html(node: ComponentChildren): string {
  if (Array.isArray(node)) return node.map(html).join("");
  if (!isValidElement(node)) {
    return node === null || typeof node !== "object" ? words(node) : "";
  }
  const { type, props } = node;
  const attributes = props as { children?: ComponentChildren; href?: string; start?: number };
  if (type === Fragment) return html(attributes.children);
  if (typeof type === "function") {
    return html((type as (props: object) => ComponentChildren)(attributes));
  }
  const shown = (["href", "start"] as const)
    .filter((name) => attributes[name] !== undefined)
    .map((name) => ` ${name}=${attributes[name]}`);
  return `<${type}${shown.join("")}>${html(attributes.children)}</${type}>`;
}

function words(node: ComponentChildren): string {
  return typeof node === "string" || typeof node === "number"
    ? String(node).replaceAll("<", "&lt;")
    : "";
}
