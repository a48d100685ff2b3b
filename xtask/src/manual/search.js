// Search over the pages of the manual, in the browser.

const MAX_RESULTS = 20;

/** Letters and digits of a text, in words. Quotes and punctuation of error messages do not count. */
export function normalize(text) {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, " ").trim();
}

/** Prepares the pages of the index for many searches. */
export function prepare(pages) {
  return pages.map((page) => ({
    ...page,
    plainTitle: normalize(page.title),
    plainHeadings: normalize(page.headings.join(" ")),
    plainText: normalize(page.text),
  }));
}

/** The pages that fit a query best. A phrase counts for more than its words, a title for more than a text. */
export function search(pages, query) {
  const phrase = normalize(query);
  const words = [...new Set(phrase.split(" "))].filter(Boolean);
  if (words.length === 0) return [];
  const score = (page) => {
    let points = 0;
    if (page.plainTitle.includes(phrase)) points += 1000;
    if (page.plainHeadings.includes(phrase)) points += 300;
    if (page.plainText.includes(phrase)) points += 200;
    for (const word of words) {
      if (page.plainTitle.includes(word)) points += 20 / words.length;
      else if (page.plainHeadings.includes(word)) points += 8 / words.length;
      else if (page.plainText.includes(word)) points += 4 / words.length;
      else points -= 12 / words.length;
    }
    return points;
  };
  return pages
    .map((page) => ({ page, points: score(page) }))
    .filter(({ points }) => points > 0)
    .sort((a, b) => b.points - a.points)
    .slice(0, MAX_RESULTS)
    .map(({ page }) => page);
}

function start() {
  const script = document.querySelector("script[data-root]");
  const root = script?.dataset.root ?? "";
  const input = document.getElementById("search");
  const results = document.getElementById("results");
  const article = document.querySelector("article");
  let pages;
  input.addEventListener("input", async () => {
    pages ??= prepare(await (await fetch(`${root}search-index.json`)).json());
    const found = search(pages, input.value);
    const searching = input.value.trim() !== "";
    results.hidden = !searching;
    article.hidden = searching;
    results.replaceChildren(
      ...found.map((page) => {
        const item = document.createElement("li");
        const link = document.createElement("a");
        link.href = root + page.url;
        link.textContent = page.title;
        const excerpt = document.createElement("p");
        excerpt.textContent = page.text.slice(page.title.length, page.title.length + 160).trim();
        item.append(link, excerpt);
        return item;
      }),
    );
    if (searching && found.length === 0) results.textContent = "Nothing found.";
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== input) {
      event.preventDefault();
      input.focus();
    }
  });
}

if (typeof document !== "undefined") start();
