// Charts, drawn by hand. Each stands beside a table with the same figures, so they
// are one picture to a reader.
import { useLayoutEffect, useRef, useState } from "preact/hooks";

export interface Datum { key: string; name: string; value: number; says: string; limit?: number | undefined }

// useSize is how wide and how high a box is from within.
export function useSize(): [{ current: HTMLDivElement | null }, number, number] {
  const box = useRef<HTMLDivElement>(null);
  const [[width, height], set] = useState<[number, number]>([480, 600]);
  useLayoutEffect(() => {
    const el = box.current;
    if (!el) return;
    const read = () => set((old) => {
      const now: [number, number] = [Math.max(200, Math.floor(el.clientWidth)), el.clientHeight];
      return old[0] === now[0] && old[1] === now[1] ? old : now;
    });
    read();
    const sized = new ResizeObserver(read);
    sized.observe(el);
    return () => sized.disconnect();
  }, []);
  return [box, width, height];
}

// Bars are horizontal, the largest first; a limit is a line across its bar.
export function Bars({ data, title }: { data: Datum[]; title: string }) {
  const [box, width] = useSize();
  const top = Math.max(1, ...data.map((d) => Math.max(d.value, d.limit ?? 0))), row = 40, room = 84;
  return (
    <div class="chart" ref={box}>
      <svg role="img" aria-label={title + ": " + data.slice(0, 5).map((d) => d.name + " " + d.says).join(", ")} width={width} height={data.length * row}>
        {data.map((d, i) => (
          <g key={d.key} transform={`translate(0 ${i * row})`}>
            <text class="name" y={14}>{fit(d.name, width)}</text>
            <rect class="ground" y={20} width={width - room} height={12} rx={2} />
            <rect class="value" y={20} width={Math.max(d.value > 0 ? 2 : 0, (d.value / top) * (width - room))} height={12} rx={2} />
            {d.limit !== undefined && <rect class="limit" x={(d.limit / top) * (width - room) - 1} y={16} width={3} height={20} />}
            <text class="figure" x={width} y={31} text-anchor="end">{d.says}</text>
          </g>
        ))}
      </svg>
    </div>
  );
}

const fit = (s: string, width: number) => {
  const most = Math.max(8, Math.floor(width / 7.4));
  return s.length > most ? s.slice(0, most - 1) + "\u2026" : s;
};

// Columns are one for each day.
export function Columns({ data, title, write }: { data: Datum[]; title: string; write: (n: number) => string }) {
  const [box, width] = useSize();
  const height = 240, left = 56, bottom = 26, high = height - bottom - 10;
  const most = Math.max(0, ...data.map((d) => d.value)), top = most ? nice(most) : 1;
  const step = (width - left - 16) / Math.max(1, data.length), wide = Math.max(1, Math.min(48, step * 0.72));
  const every = Math.max(1, Math.ceil(58 / step));
  return (
    <div class="chart" ref={box}>
      <svg role="img" aria-label={title + ": " + data.slice(-7).map((d) => d.name + " " + d.says).join(", ")} width={width} height={height}>
        {(most ? [0, 0.5, 1] : [0]).map((f) => {
          const y = 10 + high * (1 - f);
          return <g key={f}><line class="grid" x1={left} x2={width} y1={y} y2={y} /><text class="figure" x={left - 8} y={y + 4} text-anchor="end">{write(top * f)}</text></g>;
        })}
        {data.map((d, i) => {
          const h = (d.value / top) * high, x = left + i * step + (step - wide) / 2;
          return (
            <g key={d.key}>
              <rect class="value" x={x} y={10 + high - h} width={wide} height={h} rx={Math.min(2, wide / 3)}><title>{d.name + ": " + d.says}</title></rect>
              {(data.length - 1 - i) % every === 0 && <text class="figure" x={x + wide / 2} y={height - 8} text-anchor="middle">{/^\d{4}-\d\d-\d\d$/.test(d.name) ? d.name.slice(5) : fit(d.name, 60)}</text>}
            </g>
          );
        })}
      </svg>
    </div>
  );
}

function nice(n: number): number {
  const p = 10 ** Math.floor(Math.log10(n));
  for (const f of [1, 2, 2.5, 5, 10]) if (n <= f * p) return f * p;
  return n;
}
