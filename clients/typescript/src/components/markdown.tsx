/**
 * Markdown as elements. Nothing of it can run or load anything: HTML is shown as text, images and
 * links with other schemes than the web's as their words.
 */

import { type Token, type Tokens, lexer } from "marked";
import type { ComponentChildren } from "preact";

/** Schemes that a link may open. Relative links lead nowhere: the text comes from a model. */
const OPENED = /^(https?|mailto):/i;

/** A text in Markdown. What is not finished yet is shown as far as it is. */
export function Markdown({ text }: { text: string }) {
  return <div class="fw-markdown">{blocks(lexer(text))}</div>;
}

function blocks(tokens: readonly Token[]): ComponentChildren[] {
  return tokens.map((token, at) => <Block key={at} token={token} />);
}

function Block({ token }: { token: Token }) {
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading": {
      const { depth, tokens } = token as Tokens.Heading;
      return depth < 3 ? <h3>{inline(tokens)}</h3> : <h4>{inline(tokens)}</h4>;
    }
    case "code":
      return (
        <pre class="code" tabIndex={0}>
          <code>{token.text}</code>
        </pre>
      );
    case "blockquote":
      return <blockquote>{blocks(token.tokens ?? [])}</blockquote>;
    case "list":
      return <List list={token as Tokens.List} />;
    case "table":
      return <Table table={token as Tokens.Table} />;
    case "hr":
      return <hr />;
    case "text":
      return <>{inline(token.tokens ?? [token])}</>;
    case "paragraph":
      return <p>{inline(token.tokens ?? [])}</p>;
    default:
      return <p>{token.raw}</p>;
  }
}

function List({ list }: { list: Tokens.List }) {
  const items = list.items.map((item, at) => (
    <li key={at}>
      {item.task && (item.checked ? "☑ " : "☐ ")}
      {blocks(item.tokens.filter(({ type }) => type !== "checkbox"))}
    </li>
  ));
  return list.ordered ? <ol start={Number(list.start) || 1}>{items}</ol> : <ul>{items}</ul>;
}

function Table({ table }: { table: Tokens.Table }) {
  return (
    <div class="fw-table" tabIndex={0}>
      <table class="table">
        <thead>
          <tr>
            {table.header.map((cell, at) => (
              <th key={at}>{inline(cell.tokens)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, at) => (
            <tr key={at}>
              {row.map((cell, at) => (
                <td key={at}>{inline(cell.tokens)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inline(tokens: readonly Token[]): ComponentChildren[] {
  return tokens.map((token, at) => <Inline key={at} token={token} />);
}

function Inline({ token }: { token: Token }) {
  switch (token.type) {
    case "strong":
      return <b>{inline(token.tokens ?? [])}</b>;
    case "em":
      return <em>{inline(token.tokens ?? [])}</em>;
    case "del":
      return <del>{inline(token.tokens ?? [])}</del>;
    case "codespan":
      return <code>{token.text}</code>;
    case "br":
      return <br />;
    case "link": {
      const { href, tokens } = token as Tokens.Link;
      if (!OPENED.test(href)) return <>{inline(tokens)}</>;
      return (
        <a href={href} target="_blank" rel="noopener noreferrer">
          {inline(tokens)}
        </a>
      );
    }
    case "escape":
    case "image":
      return <>{token.text}</>;
    case "text":
      return <>{token.tokens === undefined ? token.text : inline(token.tokens)}</>;
    default:
      return <>{token.raw}</>;
  }
}
