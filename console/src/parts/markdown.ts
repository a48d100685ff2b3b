/** The subset of Markdown that the rule pages use. Links become their text. */

export type Block =
  | { readonly type: "head"; readonly level: number; readonly text: string }
  | { readonly type: "code"; readonly text: string }
  | { readonly type: "list"; readonly items: readonly string[] }
  | {
      readonly type: "table";
      readonly head: readonly string[];
      readonly rows: readonly (readonly string[])[];
    }
  | { readonly type: "text"; readonly text: string };

export interface Span {
  readonly kind: "text" | "code" | "bold";
  readonly text: string;
}

export function blocks(source: string): readonly Block[] {
  const lines = source.split("\n");
  const all: Block[] = [];
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] ?? "";
    const takeWhile = (fits: (line: string) => boolean) => {
      const from = at;
      while (at < lines.length && fits(lines[at] ?? "")) at += 1;
      return lines.slice(from, at);
    };
    const head = /^(#{1,6}) (.*)$/.exec(line);
    if (line.trim() === "") at += 1;
    else if (head !== null) {
      all.push({ type: "head", level: head[1]?.length ?? 1, text: plain(head[2] ?? "") });
      at += 1;
    } else if (line.startsWith("```")) {
      at += 1;
      all.push({ type: "code", text: takeWhile((line) => !line.startsWith("```")).join("\n") });
      at += 1;
    } else if (line.startsWith("|")) {
      const rows = takeWhile((line) => line.startsWith("|")).map(cells);
      all.push({ type: "table", head: rows[0] ?? [], rows: rows.slice(2) });
    } else if (/^[-*] /.test(line)) {
      const items: string[] = [];
      for (const one of takeWhile((line) => /^([-*] | {2})/.test(line))) {
        if (/^[-*] /.test(one)) items.push(one.slice(2));
        else items.push(`${items.pop() ?? ""} ${one.trim()}`);
      }
      all.push({ type: "list", items });
    } else {
      const text = takeWhile((line) => line.trim() !== "" && !/^(#{1,6} |```|\||[-*] )/.test(line));
      all.push({ type: "text", text: text.join(" ") });
    }
  }
  return all;
}

/** Code and bold text inside a line. */
export function spans(line: string): readonly Span[] {
  const all: Span[] = [];
  const found = /`([^`]*)`|\*\*([^*]+)\*\*/g;
  let last = 0;
  for (let match = found.exec(line); match !== null; match = found.exec(line)) {
    if (match.index > last) all.push({ kind: "text", text: plain(line.slice(last, match.index)) });
    if (match[1] !== undefined) all.push({ kind: "code", text: match[1] });
    else all.push({ kind: "bold", text: match[2] ?? "" });
    last = match.index + match[0].length;
  }
  if (last < line.length) all.push({ kind: "text", text: plain(line.slice(last)) });
  return all;
}

function cells(line: string): readonly string[] {
  return line
    .replace(/^\||\|\s*$/g, "")
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replace(/\\\|/g, "|"));
}

function plain(text: string): string {
  return text.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1");
}
