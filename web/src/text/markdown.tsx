// Markdown as models write it, made into elements. There is no HTML in it: what looks
// like a tag is shown as the text that it is. Links lead to http, https and mail only;
// pictures are not loaded, their links are shown. Anything odd is plain text: no input
// is an error, and none takes more than a time in proportion to its length.
import type { ComponentChildren, JSX } from "preact";
import { memo } from "../parts/memo";
import { visible } from "./visible";

const longest = 200_000; // characters; what is longer is shown as it is
const deepest = 6;

export const Markdown = memo(function Markdown({ text }: { text: string }): JSX.Element {
  const clean = visible(text);
  if (clean.length > longest) return <pre class="plain" tabIndex={0}>{clean}</pre>;
  return <div class="md">{blocks(clean.split("\n"), 0)}</div>;
});

const fence = /^ {0,3}(`{3,}|~{3,})\s*([^`\s]*)/;
const heading = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const item = /^(\s{0,12})([-*+]|\d{1,9}[.)])\s+(.*)$/;
const rule = /^ {0,3}(?:(?:- *){3,}|(?:\* *){3,}|(?:_ *){3,})$/;
const divider = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;

function blocks(lines: string[], depth: number): ComponentChildren[] {
  const out: ComponentChildren[] = [];
  let said: string[] = [];
  const flush = () => {
    if (said.length) out.push(<p key={out.length}>{inline(said.join("\n"), 0)}</p>);
    said = [];
  };
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] ?? "";
    let m: RegExpExecArray | null;
    if (!line.trim()) {
      flush();
    } else if ((m = fence.exec(line))) {
      flush();
      const mark = m[1] ?? "```", code: string[] = [];
      for (i++; i < lines.length && !(lines[i] ?? "").trimStart().startsWith(mark); i++) code.push(lines[i] ?? "");
      out.push(<Code key={out.length} language={m[2] ?? ""} text={code.join("\n")} />);
    } else if ((m = heading.exec(line))) {
      flush();
      // To the page, all headings of messages are of one level: who writes a message
      // does not know what stands before it.
      out.push(<h3 key={out.length} class={"l" + (m[1]?.length ?? 1)}>{inline(m[2] ?? "", 0)}</h3>);
    } else if (rule.test(line)) {
      flush();
      out.push(<hr key={out.length} />);
    } else if (/^ {0,3}>/.test(line) && depth < deepest) {
      flush();
      const inner: string[] = [];
      for (; i < lines.length && /^ {0,3}>/.test(lines[i] ?? ""); i++) inner.push((lines[i] ?? "").replace(/^ {0,3}> ?/, ""));
      i--;
      out.push(<blockquote key={out.length}>{blocks(inner, depth + 1)}</blockquote>);
    } else if (item.test(line) && depth < deepest) {
      flush();
      const end = endOfList(lines, i);
      out.push(list(lines.slice(i, end), depth, out.length));
      i = end - 1;
    } else if (line.includes("|") && divider.test(lines[i + 1] ?? "") && (lines[i + 1] ?? "").includes("-") && (lines[i + 1] ?? "").includes("|")) {
      flush();
      const head = cells(line), rows: string[][] = [];
      for (i += 2; i < lines.length && (lines[i] ?? "").includes("|"); i++) rows.push(cells(lines[i] ?? ""));
      i--;
      out.push(<Table key={out.length} head={head} rows={rows} />);
    } else {
      said.push(line);
    }
  }
  flush();
  return out;
}

function endOfList(lines: string[], from: number): number {
  let i = from + 1;
  for (; i < lines.length; i++) {
    const line = lines[i] ?? "";
    if (item.test(line) || /^\s{2,}\S/.test(line)) continue;
    if (line.trim() === "" && (item.test(lines[i + 1] ?? "") || /^\s{2,}\S/.test(lines[i + 1] ?? ""))) continue;
    break;
  }
  return i;
}

function list(lines: string[], depth: number, key: number): JSX.Element {
  const first = item.exec(lines[0] ?? "");
  const indent = first?.[1]?.length ?? 0, ordered = /\d/.test(first?.[2] ?? "");
  const items: string[][] = [];
  for (const line of lines) {
    const m = item.exec(line);
    if (m && (m[1]?.length ?? 0) <= indent) items.push([m[3] ?? ""]);
    else items.at(-1)?.push(line.replace(/^ {2,4}/, ""));
  }
  const rows = items.map((x, i) => <li key={i}>{x.length === 1 ? inline(x[0] ?? "", 0) : tight(blocks(x, depth + 1), x)}</li>);
  const begin = parseInt(first?.[2] ?? "1", 10);
  return ordered ? <ol key={key} start={begin}>{rows}</ol> : <ul key={key}>{rows}</ul>;
}

const tight = (made: ComponentChildren[], lines: string[]) => (lines.some((l) => !l.trim()) ? made : <div class="tight">{made}</div>);

const cells = (line: string) => line.trim().replace(/^\||\|$/g, "").split("|").map((c) => c.trim());

function Table({ head, rows }: { head: string[]; rows: string[][] }) {
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label="table">
      <table>
        <thead><tr>{head.map((c, i) => <th key={i} scope="col">{inline(c, 0)}</th>)}</tr></thead>
        <tbody>{rows.map((r, i) => <tr key={i}>{head.map((_, j) => <td key={j}>{inline(r[j] ?? "", 0)}</td>)}</tr>)}</tbody>
      </table>
    </div>
  );
}

export function Code({ text, language }: { text: string; language?: string }) {
  return <pre class="code" tabIndex={0} aria-label={language ? "code, " + language : "code"}><code>{text}</code></pre>;
}

const pairs: [string, "strong" | "em" | "del"][] = [["**", "strong"], ["__", "strong"], ["~~", "del"], ["*", "em"], ["_", "em"]];
const address = /^(?:https?:\/\/|mailto:)[^\s<>"'`\u27e8]+/i;
const word = /[\p{L}\p{N}]/u;

// inline reads one paragraph. A mark whose end was looked for in vain is not looked
// for again, which keeps the time linear.
function inline(s: string, depth: number): ComponentChildren[] {
  const out: ComponentChildren[] = [];
  const vain = new Set<string>();
  let plain = "";
  const flush = () => {
    if (plain) out.push(plain);
    plain = "";
  };
  const put = (x: ComponentChildren) => {
    flush();
    out.push(x);
  };
  const find = (what: string, from: number) => {
    if (vain.has(what)) return -1;
    const at = s.indexOf(what, from);
    if (at < 0) vain.add(what);
    return at;
  };
  for (let i = 0; i < s.length;) {
    const c = s[i] ?? "";
    if (c === "\\" && /[\\`*_{}[\]()#+\-.!|~<>]/.test(s[i + 1] ?? "")) {
      plain += s[i + 1];
      i += 2;
      continue;
    }
    if (c === "`") {
      let n = 1;
      while (s[i + n] === "`") n++;
      const mark = "`".repeat(n), end = find(mark, i + n);
      if (end > 0) {
        put(<code key={out.length}>{s.slice(i + n, end).replace(/^ (.+) $/, "$1")}</code>);
        i = end + n;
      } else {
        plain += mark;
        i += n;
      }
      continue;
    }
    if ((c === "[" || (c === "!" && s[i + 1] === "[")) && depth < deepest) {
      // Bounded: a link is short, and so is the search for its end.
      const open = c === "!" ? i + 1 : i;
      const m = /^\[([^[\]]{0,500})\]\(([^()\s]{0,2000}(?:\([^()\s]{0,200}\)[^()\s]{0,200})?)(?:\s[^()]{0,200})?\)/.exec(s.slice(open, open + 3000));
      if (m) {
        const said = m[1] ?? "", href = m[2] ?? "", end = open + m[0].length - 1;
        put(<Link key={out.length} href={href}>{inline(said || href, depth + 1)}</Link>);
        i = end + 1;
        continue;
      }
    }
    if ((c === "h" || c === "H" || c === "m") && !word.test(s[i - 1] ?? " ")) {
      const m = address.exec(s.slice(i, i + 2000));
      if (m) {
        const href = m[0].replace(/[.,;:!?)\]]+$/, "");
        put(<Link key={out.length} href={href}>{href}</Link>);
        i += href.length;
        continue;
      }
    }
    const pair = depth < deepest ? pairs.find(([mark]) => s.startsWith(mark, i)) : undefined;
    if (pair) {
      const [mark, Tag] = pair, from = i + mark.length;
      const opens = /\S/.test(s[from] ?? " ") && !(c === "_" && word.test(s[i - 1] ?? " "));
      const end = opens ? find(mark, from + 1) : -1;
      if (end > 0 && /\S/.test(s[end - 1] ?? " ") && !(c === "_" && word.test(s[end + mark.length] ?? " "))) {
        put(<Tag key={out.length}>{inline(s.slice(from, end), depth + 1)}</Tag>);
        i = end + mark.length;
        continue;
      }
      plain += mark;
      i = from;
      continue;
    }
    if (c === "\n") {
      put(<br key={out.length} />);
      i++;
      continue;
    }
    plain += c;
    i++;
  }
  flush();
  return out;
}

export function Link({ href, children }: { href: string; children?: ComponentChildren }) {
  if (!address.test(href)) return <span>{children}</span>;
  return <a href={href} title={href} target="_blank" rel="noopener noreferrer nofollow">{children}</a>;
}
