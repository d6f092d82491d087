// The files of a turn, as diffs with line numbers.
import { useState } from "preact/hooks";
import { api } from "../api/client";
import type { FileChange, Message } from "../api/types";
import { coloured, languageOf } from "../text/code";
import { diffLines, type DiffLine } from "../text/diff";
import { plural, whole } from "../text/format";
import { entire, oneLine } from "../text/visible";
import { Badge, Failure, Loading, Said, useBusy, type Tone } from "./small";

const most = 1000; // lines of a file that are shown at first

// filesSaid is what a state of files says in one line; "" says nothing.
export function filesSaid(m: Message): string {
  const s = m.meta?.files;
  if (!s) return "";
  if (s.none) return "the files are not kept: " + oneLine(s.none, 300);
  const partial = s.of ? ` (partial: ${whole(s.seen ?? 0)} of ${whole(s.of)} were looked at)` : "";
  if (s.when === "restored") return plural(s.changed, "file") + " restored" + partial;
  if (!s.changed) return partial && "the state of the files is saved" + partial;
  return plural(s.changed, "file") + (s.when === "after" ? " changed" : " changed meanwhile") + partial;
}

// Changes shows what a state changed, when it is opened.
export function Changes({ agent, m }: { agent: string; m: Message }) {
  const [got, set] = useState<FileChange[] | null>(null);
  const { busy, error, run } = useBusy();
  const read = () => run(async () => { set(await api.changes(agent, m.id)); });
  return (
    <details class="fold changes" onToggle={(e) => { if (e.currentTarget.open && !got && !busy) read(); }}>
      <summary>{filesSaid(m)}</summary>
      <div class="inner">
        {busy && <Loading what="the files" />}
        {error != null && <Failure error={error} again={read} />}
        {got?.length === 0 && <p class="soft">Nothing that can be shown.</p>}
        {got?.map((c) => <OneChange key={c.path} change={c} />)}
      </div>
    </details>
  );
}

const tones: Record<string, Tone> = { added: "good", removed: "bad" };

export function OneChange({ change }: { change: FileChange }) {
  const path = oneLine(change.path, 300);
  return (
    <section class="change" aria-label={path}>
      <p class="of"><code><bdi>{path}</bdi></code> <Badge tone={tones[change.verb] ?? "busy"}>{oneLine(change.verb, 20)}</Badge>{change.note && <span class="soft"> <Said text={change.note} most={200} /></span>}</p>
      {change.diff && <DiffTable lines={diffLines(change.diff)} path={path} above="" />}
    </section>
  );
}

// DiffTable is a diff with the numbers of its lines, in the colours of its language.
export function DiffTable({ lines, path, above }: { lines: DiffLine[]; path: string; above: string }) {
  const [all, setAll] = useState(false);
  const language = languageOf(path);
  if (!lines.length) return null;
  return (
    <>
      {above && <p class="soft wrap">{above}</p>}
      <div class="scroll lines" tabIndex={0} role="region" aria-label={"changes of " + (path || "a file")}>
        <table>
          <tbody>{(all ? lines : lines.slice(0, most)).map((l, i) => <Row key={i} line={l} language={language} />)}</tbody>
        </table>
      </div>
      {lines.length > most && !all && <button type="button" class="quiet" onClick={() => setAll(true)}>Show all {whole(lines.length)} lines</button>}
    </>
  );
}

const signs = { same: " ", added: "+", removed: "-", hunk: "" };

function Row({ line, language }: { line: DiffLine; language: string }) {
  if (line.kind === "hunk") return <tr class="hunk"><td colSpan={3}>{oneLine(line.text, 200)}</td></tr>;
  const text = entire(line.text), number = [<td class="at">{line.before ?? ""}</td>, <td class="at">{line.after ?? ""}</td>];
  if (!language || text.length > 1000) return <tr class={line.kind}>{number}<td class="text">{signs[line.kind] + text}</td></tr>;
  return <tr class={line.kind}>{number}<td class="text">{signs[line.kind]}<span dangerouslySetInnerHTML={{ __html: coloured(text, language) }} /></td></tr>;
}
