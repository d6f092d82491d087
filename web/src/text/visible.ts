// Foreign text as it may be shown. Nothing here is HTML: text reaches the page as
// text nodes only. What is left to do is to show what would otherwise act unseen:
// control characters, marks that turn the direction of writing, and terminal codes.

// eslint-disable-next-line no-control-regex
const colours = /\x1b\[[0-9;:]*m/g; // no other code is left out: what stands between their ends is text, and a shell runs it
const unseen = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

function mark(c: string): string {
  const hex = (c.codePointAt(0) ?? 0).toString(16).toUpperCase();
  return "\u27e8" + hex.padStart(hex.length > 2 ? 4 : 2, "0") + "\u27e9";
}

// visible is a text of several lines.
export function visible(s: string): string {
  return s.replace(/\r\n?/g, "\n").replace(colours, "").replace(unseen, mark);
}

const hidden = /[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

// entire is a text about which a person decides: every character of it is there, those that nobody sees by their numbers.
export function entire(s: string): string {
  return s.replace(hidden, mark);
}

// shownMarks is a text of several lines in which nothing is left out: codes of terminals too
// stand there as signs, as the terminal shows them in what agents say.
export function shownMarks(s: string): string {
  return s.replace(/\r\n?/g, "\n").replace(unseen, (c) => {
    const n = c.codePointAt(0) ?? 0;
    return n < 0x20 ? String.fromCodePoint(0x2400 + n) : n === 0x7f ? "\u2421" : "\ufffd";
  });
}

// brief shortens the hashes in an id: their beginning tells them apart.
export const brief = (s: string) => s.replace(/[0-9a-f]{20,}/g, (hash) => hash.slice(0, 8) + "\u2026");

const plain = /^[!-~]+(?: [!-~]+)*$/; // nothing to mark, nothing to put together: most texts

// oneLine is a text for a single line, cut where it is too long to be one.
export function oneLine(s: string, most = 400): string {
  if (s.length <= most && (s === "" || plain.test(s))) return s;
  const cut = s.length > most ? s.slice(0, most) + "\u2026" : s;
  return visible(cut).replace(/\s+/g, " ").trim();
}
