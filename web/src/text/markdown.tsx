// Markdown as models write it, read by markdown-it and cleaned by DOMPurify. What looks
// like a tag is shown as the text that it is. Links lead to http, https and mail only;
// others are shown with their address, and pictures are not loaded. Anything odd is plain
// text: no input is an error.
import DOMPurify from "dompurify";
import type { ComponentChildren, JSX } from "preact";
import { useMemo } from "preact/hooks";
import MarkdownIt from "markdown-it";
import { copied } from "../parts/copy";
import { memo } from "../parts/memo";
import { coloured, escaped } from "./code";
import { shownMarks } from "./visible";

const longest = 200_000; // characters; what is longer is shown as it is
const deepest = 60; // levels; the reader leaves out what is deeper, so the text is shown as it is

const address = /^(?:https?:\/\/|mailto:)[^\s<>"'`]+/i;

const md = new MarkdownIt({ html: false, linkify: true, breaks: false });
type Token = ReturnType<typeof md.parse>[number];
md.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
md.validateLink = () => true; // links() decides
md.core.ruler.push("page", (state) => {
  for (const [i, t] of state.tokens.entries()) {
    // To the page, all headings of messages are of one level: who writes a message
    // does not know what stands before it.
    if (t.type === "heading_open") t.attrSet("class", "l" + t.tag.slice(1));
    if (t.type === "heading_open" || t.type === "heading_close") t.tag = "h3";
    if (t.type === "th_open" || t.type === "td_open") aligned(t);
    if (t.type === "inline") {
      task(state.tokens, i);
      links(t.children ?? []);
      for (const c of t.children ?? []) if (c.content) c.content = shownMarks(c.content);
    }
  }
});

// aligned says with a class what the reader says with a style, which the policy forbids.
function aligned(t: Token) {
  const side = /text-align:(\w+)/.exec(String(t.attrGet("style") ?? ""))?.[1];
  t.attrs = side ? [["class", side]] : null;
  if (t.tag === "th") t.attrPush(["scope", "col"]);
}

// task makes a box of [ ] and [x] at the beginning of an item.
function task(tokens: Token[], i: number) {
  const item = tokens[i - 2], text = tokens[i]?.children?.[0];
  const m = item?.type === "list_item_open" && tokens[i - 1]?.type === "paragraph_open" && text?.type === "text" ? /^\[([ xX])\]\s+/.exec(text.content) : null;
  if (!m || !text) return;
  text.content = text.content.slice(m[0].length);
  item!.attrSet("class", m[1] === " " ? "task" : "task done");
}

// links makes plain text of those that lead elsewhere than into the web, and links of pictures.
function links(children: Token[]) {
  const open: Token[] = [];
  for (const t of children) {
    if (t.type === "link_open") {
      const href = String(t.attrGet("href") ?? "");
      if (address.test(href)) t.attrs = [["href", href], ["title", shownMarks(decoded(href))], ["target", "_blank"], ["rel", "noopener noreferrer nofollow"]];
      else {
        t.tag = "span";
        t.attrs = null;
        t.meta = { href };
      }
      open.push(t);
    } else if (t.type === "link_close") {
      const from = open.pop();
      t.tag = from?.tag ?? "a";
      t.meta = from?.meta ?? null;
    }
  }
}

const decoded = (href: string) => {
  try {
    return decodeURI(href);
  } catch {
    return href;
  }
};

const rules = md.renderer.rules;
rules.link_close = (tokens, i) => {
  const t = tokens[i]!, href = (t.meta as { href?: string } | null)?.href;
  return (href ? " (" + escaped(shownMarks(href)) + ")" : "") + "</" + t.tag + ">";
};
rules.image = (tokens, i) => {
  const t = tokens[i]!, href = String(t.attrGet("src") ?? ""), said = escaped(shownMarks("image: " + (t.content || href)));
  return address.test(href) ? `<a href="${escaped(href)}" target="_blank" rel="noopener noreferrer nofollow">${said}</a>` : "<span>" + said + "</span>";
};
rules.list_item_open = (tokens, i) => {
  const is = String(tokens[i]!.attrGet("class") ?? "");
  if (!is) return "<li>";
  const done = is === "task done";
  return `<li class="${is}"><input type="checkbox" disabled="" ${done ? 'checked="" ' : ""}aria-label="${done ? "done" : "open"}">`;
};
rules.table_open = () => '<div class="scroll" tabindex="0" role="group" aria-label="table"><table>';
rules.table_close = () => "</table></div>";
rules.s_open = () => "<del>";
rules.s_close = () => "</del>";
rules.fence = (tokens, i) => box(tokens[i]!.content, tokens[i]!.info.trim().split(/\s+/)[0] ?? "");
rules.code_block = (tokens, i) => box(tokens[i]!.content, "");

// box is a block of code with its language and a button that copies it.
function box(text: string, language: string): string {
  const clean = shownMarks(text).replace(/\n$/, ""), name = escaped(language.slice(0, 30));
  return `<div class="codebox"><div class="of"><span>${name}</span><button type="button" class="quiet copy">Copy</button></div>` +
    `<pre class="code${fits(clean) ? " fits" : ""}" tabindex="0" aria-label="code${name ? ", " + name : ""}"><code>${coloured(clean, language)}</code></pre></div>`;
}

// fits says that code is short and narrow enough for a window that is no phone's: nothing has to scroll, and
// each box that scrolls is a thing of its own to the browser, in every frame.
const fits = (code: string) => /^(?:[\t -~]{0,60}(?:\n|$)){1,16}$/.test(code) && !/\t.*\t.*\t/.test(code);

// pieces are the top blocks of a text, each as HTML: while a reply comes in, only the last
// one changes. It is null if the text is to be shown as it is.
export function pieces(text: string): string[] | null {
  const clean = text.replace(/\r\n?/g, "\n");
  if (clean.length > longest) return null;
  const env = {}, tokens = md.parse(clean, env), out: string[] = [];
  if (tokens.some((t) => t.level > deepest)) return null;
  for (let from = 0; from < tokens.length;) {
    let to = from + 1;
    for (let level = tokens[from]!.nesting; level > 0 && to < tokens.length; to++) level += tokens[to]!.nesting;
    out.push(md.renderer.render(tokens.slice(from, to), md.options, env));
    from = to;
  }
  return out;
}

export const allowed = {
  tags: ["p", "h3", "hr", "br", "blockquote", "ul", "ol", "li", "pre", "code", "table", "thead", "tbody", "tr", "th", "td", "strong", "em", "del", "a", "span", "div", "button", "input"],
  attributes: ["href", "title", "target", "rel", "start", "class", "tabindex", "role", "aria-label", "type", "disabled", "checked", "scope"],
};

const cleaned = (html: string) => DOMPurify.sanitize(html, {
  ALLOWED_TAGS: allowed.tags, ALLOWED_ATTR: allowed.attributes, ALLOW_DATA_ATTR: false,
  ALLOWED_URI_REGEXP: /^(?:https?:\/\/|mailto:)/i, ADD_URI_SAFE_ATTR: allowed.attributes.filter((a) => a !== "href"),
});

const Piece = memo(function Piece({ html }: { html: string }) {
  return <div class="piece" dangerouslySetInnerHTML={{ __html: cleaned(html) }} />;
});

export const Markdown = memo(function Markdown({ text }: { text: string }): JSX.Element {
  const made = useMemo(() => pieces(text), [text]);
  if (!made) return <pre class="plain" tabIndex={0}>{shownMarks(text)}</pre>;
  return <div class="md" onClick={copied}>{made.map((html, i) => <Piece key={i} html={html} />)}</div>;
});

export function Link({ href, children }: { href: string; children?: ComponentChildren }) {
  if (!address.test(href)) return <span>{children}</span>;
  return <a href={href} title={href} target="_blank" rel="noopener noreferrer nofollow">{children}</a>;
}
