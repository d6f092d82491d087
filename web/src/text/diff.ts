// A unified diff as numbered lines. What does not look like one is shown as it is, without
// numbers: nothing of a foreign text is lost.

export interface DiffLine { kind: "same" | "added" | "removed" | "hunk"; before?: number; after?: number; text: string }

const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

export function diffLines(diff: string): DiffLine[] {
  const lines = diff.split("\n");
  if (lines.at(-1) === "") lines.pop();
  const out: DiffLine[] = [];
  let before = 0, after = 0, left = 0, right = 0, begun = false; // left, right: lines that the hunk still has
  for (const line of lines) {
    const head = left > 0 || right > 0 ? null : hunk.exec(line);
    if (head) {
      before = Number(head[1]);
      after = Number(head[3]);
      left = Number(head[2] ?? 1);
      right = Number(head[4] ?? 1);
      begun = true;
      out.push({ kind: "hunk", text: line });
    } else if (!begun && (line.startsWith("--- ") || line.startsWith("+++ "))) {
      continue; // the path stands above
    } else if (line.startsWith("+") && right > 0) {
      right--;
      out.push({ kind: "added", after: after++, text: line.slice(1) });
    } else if (line.startsWith("-") && left > 0) {
      left--;
      out.push({ kind: "removed", before: before++, text: line.slice(1) });
    } else if (line.startsWith(" ") && left > 0 && right > 0) {
      left--;
      right--;
      out.push({ kind: "same", before: before++, after: after++, text: line.slice(1) });
    } else {
      out.push({ kind: "hunk", text: line });
    }
  }
  return out;
}

// diffIn finds the unified diff that an output is, or ends with; null: it is none.
export function diffIn(text: string): { path: string; text: string; above: string } | null {
  const at = /^(?:--- \S.*\n\+\+\+ \S.*\n)?@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@/m.exec(text.slice(0, 2000));
  if (!at || text.length > 400_000) return null;
  const rest = text.slice(at.index), above = text.slice(0, at.index);
  if (above.split("\n").length > 4) return null;
  for (const line of rest.split("\n").slice(0, 50)) if (!/^(?:[-+ @\\]|$|diff |index )/.test(line)) return null;
  const path = /^\+\+\+ (?:b\/)?(\S+)/m.exec(rest)?.[1] ?? "";
  return { path, text: rest, above: above.trim() };
}
