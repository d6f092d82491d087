// Differences: of two texts, line by line, and of unified diffs as they come.
const mostCompared = 4_000_000; // cells; beyond, the old stands before the new as a whole

function compared(before, after) {
  const a = before.split("\n"), b = after.split("\n");
  let head = 0, tail = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const x = a.slice(head, a.length - tail), y = b.slice(head, b.length - tail);
  const same = (lines) => lines.map((text) => ({ sign: " ", text }));
  return [...same(a.slice(0, head).slice(-3)), ...between(x, y), ...same(a.slice(a.length - tail).slice(0, 3))];
}

function between(x, y) {
  const out = [], take = (sign, text) => out.push({ sign, text });
  if (x.length * y.length > mostCompared) {
    x.forEach((t) => take("-", t));
    y.forEach((t) => take("+", t));
    return out;
  }
  const wide = y.length + 1, longest = new Uint32Array((x.length + 1) * wide);
  for (let i = x.length - 1; i >= 0; i--) {
    for (let j = y.length - 1; j >= 0; j--) {
      longest[i * wide + j] = x[i] === y[j] ? longest[(i + 1) * wide + j + 1] + 1 : Math.max(longest[(i + 1) * wide + j], longest[i * wide + j + 1]);
    }
  }
  let i = 0, j = 0;
  while (i < x.length || j < y.length) {
    if (i < x.length && j < y.length && x[i] === y[j]) { take(" ", x[i++]); j++; }
    else if (j >= y.length || (i < x.length && longest[(i + 1) * wide + j] >= longest[i * wide + j + 1])) take("-", x[i++]);
    else take("+", y[j++]);
  }
  return out;
}

const hunk = /^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@/m;
function unified(text) {
  return text.replace(/\n$/, "").split("\n").map((line) => /^(@@|--- |\+\+\+ )/.test(line) ? { sign: "@", text: line }
    : line[0] === "+" || line[0] === "-" ? { sign: line[0], text: line.slice(1) } : { sign: " ", text: line.replace(/^ /, "") });
}

// edits are the changes that a call asks for, as the tools of known programs name them.
function edits(args) {
  if (!args || typeof args !== "object") return [];
  const path = [args.path, args.file_path, args.filePath].find((p) => typeof p === "string") ?? "";
  const list = Array.isArray(args.edits) ? args.edits : [args];
  const out = [];
  for (const e of list) {
    if (!e || typeof e !== "object") continue;
    const before = [e.old_string, e.oldString, e.oldText, e.old_str].find((s) => typeof s === "string");
    const after = [e.new_string, e.newString, e.newText, e.new_str].find((s) => typeof s === "string");
    if (before !== undefined && after !== undefined) out.push({ path, lines: compared(before, after) });
  }
  if (!out.length && path && typeof args.content === "string") out.push({ path, lines: args.content.split("\n").map((text) => ({ sign: "+", text })) });
  return out;
}
