// The pages that an answer rests on, as its vendor names them, and what was looked for.
import type { Part, Source } from "../api/types";
import { Link } from "../text/markdown";
import { oneLine } from "../text/visible";

// joined makes one text of those that come in pieces because each rests on pages of its own.
export function joined<T extends { p: Part }>(parts: T[]): T[] {
  const out: T[] = [];
  for (const one of parts) {
    const last = out.at(-1), p = one.p;
    const cited = (p.sources?.length ?? 0) + (last?.p.sources?.length ?? 0) > 0;
    if (last?.p.type === "text" && p.type === "text" && cited && last.p.text && p.text) {
      out[out.length - 1] = { ...last, p: { ...last.p, text: last.p.text + p.text, sources: [...(last.p.sources ?? []), ...(p.sources ?? [])] } };
    } else out.push(one);
  }
  return out;
}

export function Searched({ part }: { part: Part }) {
  return part.text ? <p class="soft">Searched the web for <bdi>{oneLine(part.text, 200)}</bdi></p> : null;
}

// Sources are a list of links, each page once.
export function Sources({ parts }: { parts: Part[] }) {
  const pages = new Map<string, Source>();
  for (const p of parts) for (const s of p.sources ?? []) if (s.url && !pages.has(s.url)) pages.set(s.url, s);
  if (!pages.size) return null;
  return (
    <div class="sources">
      <p class="soft">Sources</p>
      <ol>{[...pages.values()].map((s) => <li key={s.url}><Link href={s.url}>{oneLine(s.title || s.url, 200)}</Link></li>)}</ol>
    </div>
  );
}
